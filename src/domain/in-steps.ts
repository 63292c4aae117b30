/** Rows written at a time, which takes 1.7 ms on SQLite. */
const STEP = 100

/** Splits rows into chunks whose total weight is at most this size; a heavier row is a chunk of its own. */
export function* chunksOf<Row>(rows: Iterable<Row>, size: number, weigh: (row: Row) => number = () => 1) {
  let chunk: Row[] = []
  let weight = 0
  for (const row of rows) {
    if (weight + weigh(row) > size && chunk.length > 0) {
      yield chunk
      chunk = []
      weight = 0
    }
    chunk.push(row)
    weight += weigh(row)
  }
  if (chunk.length > 0) yield chunk
}

/** Handles rows in small steps, so that requests are handled in between. */
export async function inSteps<Row>(rows: Iterable<Row>, handle: (step: Row[]) => Promise<void>, size = STEP) {
  for (const step of chunksOf(rows, size)) {
    await handle(step)
    await new Promise(setImmediate)
  }
}

/** Maps rows in small steps, so that requests are handled in between. */
export async function mapInSteps<Row, Mapped>(rows: Iterable<Row>, map: (row: Row) => Mapped): Promise<Mapped[]> {
  const mapped: Mapped[] = []
  await inSteps(rows, async (step) => void mapped.push(...step.map(map)))
  return mapped
}

/** How many rows are written at a time. Rows of many applications are scattered, so this takes 3 ms on SQLite. */
const WRITTEN_AT_A_TIME = 50

/** Writes the waiting rows in small steps. If one fails, puts back those that are not written, oldest first, and throws. */
export async function drain<Row>(
  takeAll: () => Row[],
  write: (step: Row[]) => Promise<void>,
  putBack: (row: Row) => void,
): Promise<void> {
  const rows = takeAll()
  let written = 0
  const writeStep = async (step: Row[]) => {
    await write(step)
    written += step.length
  }
  try {
    await inSteps(rows, writeStep, WRITTEN_AT_A_TIME)
  } catch (error) {
    for (const row of [...rows.slice(written), ...takeAll()]) putBack(row)
    throw error
  }
}
