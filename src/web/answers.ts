/** Retry-After (RFC 9110 §10.2.3): seconds or a date, in milliseconds from now. Undefined if there is none. */
export function retryAfterIn(headers: Headers, now = Date.now()): number | undefined {
  const text = headers.get('retry-after') ?? ''
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Math.max(0, Date.parse(text) - now)
  return Number.isNaN(wait) ? undefined : wait
}

/** What an error of `fetch` says, the most useful text first: of its cause, whose message may be empty, and then its own. */
export function failureTexts(error: unknown): string[] {
  const errors = [Object(error).cause, error].map(Object)
  return errors.flatMap(({ message, code, name }) => [message, code, name]).filter(Boolean)
}
