import type { IncomingHttpHeaders } from 'node:http'

/**
 * VERSION-TRACE-PARENT-FLAGS. Version ff is none; version 00 ends there, and what later ones have behind it is unknown. A
 * trace or a parent of zeros is invalid.
 */
const TRACEPARENT = /^(?!ff)(?!00.{53}.)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Characters. Version 00 has 55; what is kept of a header keeps all of it in memory. */
const MAX_LENGTH = 128

/** The id of the trace that a request is a part of, if its caller says so: W3C Trace Context §3.2, §4.3. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_LENGTH) return undefined
  return TRACEPARENT.exec(traceparent)?.[1]
}
