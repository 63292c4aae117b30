/** How many rows are written at a time: about a millisecond's work. */
const STEP = 500

/** Writes rows in small steps, between which requests get their turn. */
export async function inSteps<Row>(
  rows: Iterable<Row>,
  write: (step: Row[]) => Promise<void>,
  size = STEP,
): Promise<void> {
  let step: Row[] = []
  for (const row of rows) {
    step.push(row)
    if (step.length < size) continue
    await write(step)
    await new Promise(setImmediate)
    step = []
  }
  if (step.length > 0) await write(step)
}
