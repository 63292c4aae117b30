import { randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Unguessable text of `[A-Za-z0-9]`, the same bytes with and without form encoding; 5.95 bits per character. */
export function randomString(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** A copy in its own memory: a part of a request's text would keep the whole text alive. */
export function ownText(text: string): string {
  return ` ${text}`.slice(1)
}

/** Control characters except line breaks and tabs, bidirectional controls, and other line breaks. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Escapes, as in JSON, what would control a terminal or deceive its reader. */
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
