/** Rows written at a time: about a millisecond of work. */
const STEP = 500

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
