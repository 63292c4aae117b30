import type { Test } from 'tap'

/** What `inject` answers, as far as these tests read it. */
export interface Answer {
  statusCode: number
  headers: Record<string, unknown>
  json(): unknown
  body: string
}

/** Asserts that an answer is a refusal of RFC 6749 §5.2. */
export function refused(t: Test, answer: Answer, status: number, error: string, description: RegExp) {
  t.equal(answer.statusCode, status)
  t.match(answer.json(), { error, error_description: description })
  t.strictSame(Object.keys(answer.json() as object), ['error', 'error_description'])
  t.match((answer.json() as { error_description: string }).error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  t.match(answer.headers, { 'cache-control': 'no-store', pragma: 'no-cache', 'content-type': /^application\/json/ })
}
