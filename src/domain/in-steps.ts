/** How many rows are written at a time: about a millisecond's work. */
const STEP = 500

/** Writes rows in small steps, between which requests get their turn. */
export async function inSteps<Row>(rows: Row[], write: (step: Row[]) => Promise<void>, size = STEP): Promise<void> {
  for (let at = 0; at < rows.length; at += size) {
    await write(rows.slice(at, at + size))
    await new Promise(setImmediate)
  }
}
