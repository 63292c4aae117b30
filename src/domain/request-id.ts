import { randomBytes } from 'node:crypto'
import { mayHoldSecret } from './secret.ts'
import { parseToken } from './token.ts'

const FORM = /^[\w.:#+/=-]{1,64}$/

/** A request id is 18 random hex characters, which 256 ids share, and a two-digit hex counter. */
const BEGINNING_BYTES = 9
const ENDINGS = Array.from({ length: 256 }, (_, number) => number.toString(16).padStart(2, '0'))

let beginning = ''
let used = ENDINGS.length

/** A unique id of 20 hex characters. Cheaper than a UUID (docs/performance). */
export function newRequestId(): string {
  if (used === ENDINGS.length) {
    beginning = randomBytes(BEGINNING_BYTES).toString('hex')
    used = 0
  }
  return beginning + ENDINGS[used++]
}

/** The caller's X-Request-Id, else its X-Correlation-Id, else a new id. Malformed ids are ignored. */
export function requestIdOf(headers: NodeJS.Dict<string | string[]>): string {
  return sentId(headers, 'x-request-id') ?? sentId(headers, 'x-correlation-id') ?? newRequestId()
}

/** Undefined if the id is missing, malformed, or may be a token or a secret, which must not be logged. */
export function sentId(
  headers: NodeJS.Dict<string | string[]>,
  name: 'x-request-id' | 'x-correlation-id',
): string | undefined {
  const id = headers[name]
  return typeof id === 'string' && FORM.test(id) && !mayHoldSecret(id) && !parseToken(id) ? id : undefined
}

/** The request id in a pasted text, which may include the name of the header or field, quotes and spaces. */
export function requestIdIn(text: string): string {
  const value = text.replace(/^\W*(x[-_])?(request|correlation)[-_ ]?id[^\w-]+/i, '')
  // To remove what is at the end with /[^…]+$/ would take quadratic time.
  return /[\w.:#+/=-](?:.*[\w.:#+/=-])?/s.exec(value)?.[0] ?? ''
}
