import { randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Unguessable text of `[A-Za-z0-9]`, the same bytes with and without form encoding; 5.95 bits per character. */
export function randomString(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** The same text in memory of its own: a part of a request's text would keep all of that. */
export function ownText(text: string): string {
  return ` ${text}`.slice(1)
}

/** Control characters but line breaks and tabs, what makes a terminal write from right to left, and other line breaks. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Text that shows as it is: what would command a terminal, or deceive its reader, is escaped as in JSON. */
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

/** A sentence with one period at its end. */
export function withPeriod(text: string): string {
  return text.replace(/\.?$/, '.')
}

/**
 * How many characters must be changed, added, left out or swapped with the next one to make one text the other. Stops counting
 * above `most`.
 */
export function distance(a: string, b: string, most = Number.POSITIVE_INFINITY): number {
  let previous: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length && Math.min(...row) <= most; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? (previous[j - 2] as number) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(changed, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    previous = row
    row = next
  }
  return row[b.length] as number
}
