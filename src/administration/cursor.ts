import { OperatorError } from '../domain/operator-error.ts'

// Opaque pagination cursors.

/** The cursor for a row, given its numeric key in the store. */
export function cursorOf(key: unknown): string {
  return Buffer.from(String(key)).toString('base64url')
}

/** Whether a text is a well-formed cursor. */
export function isCursor(text: string): boolean {
  const key = textOf(text)
  return /^[1-9]\d{0,15}$/.test(key) && cursorOf(key) === text
}

/** The key that a cursor was made from. Throws OperatorError if the cursor is malformed. */
export function keyOf<RowKey>(cursor: string): RowKey {
  if (isCursor(cursor)) return Number(textOf(cursor)) as RowKey
  throw new OperatorError('This is not a valid cursor. Leave it out to start at the first page.', { kind: 'invalid' })
}

function textOf(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}
