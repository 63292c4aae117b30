import { randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Unguessable text of `[A-Za-z0-9]`, the same with and without form encoding; 5.95 bits of entropy per character. */
export function randomString(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** A copy in its own memory: a part of a request's text would keep the whole text alive. */
export function detachText(text: string): string {
  return ` ${text}`.slice(1)
}

/** Control characters except LF and tabs, bidirectional controls, and the line separators of Unicode. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Escapes, as in JSON, characters that could control a terminal or deceive its reader. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, escaped)
}

/** The same on one line: line breaks and tabs are escaped, too. */
export function visibleOnOneLine(text: string): string {
  return visible(text).replace(/[\n\t]/g, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

export function withPeriod(text: string): string {
  return text.replace(/\.?$/, '.')
}

/** The text with a capital letter at the beginning and a period at the end. */
export function asSentence(text: string): string {
  return withPeriod(text.charAt(0).toUpperCase() + text.slice(1))
}

/** The first ten, and how many more there are: `and 3 more`, or nothing. */
export function firstTen<Item>(items: readonly Item[]): { shown: readonly Item[]; more: string } {
  return { shown: items.slice(0, 10), more: items.length > 10 ? `and ${items.length - 10} more` : '' }
}

/** The first ten in a sentence. */
export function enumerated(words: readonly string[]): string {
  const { shown, more } = firstTen(words)
  return `${shown.join(', ')} ${more}`.trim()
}

/** Whether at most `limit` edits turn one text into the other: adding, removing, replacing, or swapping two neighbours. */
export function differsBy(limit: number, a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > limit) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  if (at === Math.max(a.length, b.length)) return true
  const isSwapped = a[at] === b[at + 1] && a[at + 1] === b[at]
  const differs = (inA: number, inB: number) => differsBy(limit - 1, a.slice(at + inA), b.slice(at + inB))
  return limit > 0 && (differs(1, 0) || differs(0, 1) || differs(1, 1) || (isSwapped && differs(2, 2)))
}

/** 1 thing, 1,234 things. */
export function many(number: number, thing: string, things = `${thing}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? thing : things}`
}

/** The same fields in the order of their names. */
export function sortedByName<Value>(fields: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** `developerEmail` for `developer_email`. */
export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** The object with its field names in camel case: `developerEmail` for `developer_email`. */
export function camelCased<Fields extends object>(json: object): Fields {
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [camelCase(name), value])) as Fields
}

export function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
