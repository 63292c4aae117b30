/** The types of PostgreSQL that are not handed on as text, by their object ids in its catalogue. */
const BOOLEAN = 16
const BIGINT = 20
const INTEGER = 23
const DOUBLE = 701
const NUMERIC = 1700

/** How a value of this type is made of the text that PostgreSQL sends. Every number here is below 2^53. */
export function parserOf(type: number): (text: string) => unknown {
  if (type === BIGINT || type === INTEGER || type === DOUBLE || type === NUMERIC) return Number
  if (type === BOOLEAN) return toBoolean
  return toText
}

/** An array of ids or numbers, in the form in which PostgreSQL reads it. */
export function arrayOf(items: readonly unknown[]): string {
  return `{${items.map((item) => item ?? 'NULL').join(',')}}`
}

function toBoolean(text: string): boolean {
  return text === 't'
}

function toText(text: string): string {
  return text
}

/** The same for names that strangers send. One with NUL, which PostgreSQL cannot hold, is left out: nothing has it. */
export function textArrayOf(names: Iterable<string>): string[] {
  return [...names].filter((name) => !name.includes('\0'))
}
