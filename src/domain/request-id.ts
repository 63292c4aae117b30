import { randomBytes } from 'node:crypto'
import { mayHoldSecret } from './secret.ts'
import { parseToken } from './token.ts'

const FORM = /^[\w.:#+/=-]{1,64}$/

/** Ids that begin alike: 18 random hex characters, and two that count. */
const BEGINNING_BYTES = 9
const ENDINGS = Array.from({ length: 256 }, (_, number) => number.toString(16).padStart(2, '0'))

let beginning = ''
let used = ENDINGS.length

/** A new id of a request, unique among all processes: 20 hex characters. Cheaper than a UUID (docs/performance). */
export function newRequestId(): string {
  if (used === ENDINGS.length) {
    beginning = randomBytes(BEGINNING_BYTES).toString('hex')
    used = 0
  }
  return beginning + ENDINGS[used++]
}

/** Whether a caller may call its request so. It gets into the log: what may be an access token or a secret is no id. */
function isRequestId(text: string): boolean {
  return FORM.test(text) && !mayHoldSecret(text) && !parseToken(text)
}

/** The caller's X-Request-Id, else its X-Correlation-Id, else a new id. Malformed ids are ignored. */
export function requestIdOf(headers: NodeJS.Dict<string | string[]>): string {
  return sentId(headers, 'x-request-id') ?? sentId(headers, 'x-correlation-id') ?? newRequestId()
}

/** The id in this header; undefined if it is missing or malformed. */
export function sentId(
  headers: NodeJS.Dict<string | string[]>,
  name: 'x-request-id' | 'x-correlation-id',
): string | undefined {
  const id = headers[name]
  return typeof id === 'string' && isRequestId(id) ? id : undefined
}
