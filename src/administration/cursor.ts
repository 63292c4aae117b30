import { OperatorError } from '../domain/operator-error.ts'

// Where a list goes on, as text that nobody needs to understand.

/** The cursor of a row, by the number that the store knows it by. */
export function cursorOf(key: unknown): string {
  return Buffer.from(String(key)).toString('base64url')
}

/** Whether a text is a cursor. */
export function isCursor(text: string): boolean {
  const key = textOf(text)
  return /^[1-9]\d{0,15}$/.test(key) && cursorOf(key) === text
}

/** The row of a cursor. Throws OperatorError where `cursorOf` made no such text. */
export function keyOf<RowKey>(cursor: string): RowKey {
  if (isCursor(cursor)) return Number(textOf(cursor)) as RowKey
  throw new OperatorError('This is no place in the list: leave it out to begin at the first page.', { kind: 'invalid' })
}

function textOf(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}
