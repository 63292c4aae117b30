import { OperatorError } from '../domain/operator-error.ts'

// Where a list goes on, as text that nobody needs to understand.

/** The cursor of a row, by the number that the store knows it by. */
export function cursorOf(key: unknown): string {
  return Buffer.from(String(key)).toString('base64url')
}

/** The row of a cursor. Throws OperatorError where `cursorOf` made no such text. */
export function keyOf<RowKey>(cursor: string): RowKey {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (!/^[1-9]\d{0,15}$/.test(text) || cursorOf(text) !== cursor) throw unknownCursor()
  return Number(text) as RowKey
}

function unknownCursor(): OperatorError {
  return new OperatorError('This is no place in the list: leave it out to begin at the first page.')
}
