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
