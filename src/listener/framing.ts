import type { IncomingMessage } from 'node:http'

/**
 * Whether a request that Node.js can parse is refused all the same: another version than HTTP/1 (RFC 9110 §15.6.6), an unknown
 * transfer coding (RFC 9112 §6.1), or two Host headers (RFC 9112 §3.2). A proxy may read such a request in another way, and
 * hand the answer to the wrong client.
 */
export function isAmbiguous({ httpVersionMajor, httpVersionMinor, headers, rawHeaders }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  const isKnownCoding = coding === undefined || coding.toLowerCase() === 'chunked'
  return httpVersionMajor !== 1 || httpVersionMinor > 1 || !isKnownCoding || timesGiven('host', rawHeaders) > 1
}

/** The target of a request as a path and a query: a client may send the whole address (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
}

/** How often a header of this name, in lower case, is among names and values in turn: Node.js uses the first, a proxy may use the last. */
export function timesGiven(name: string, rawHeaders: string[]): number {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    if (given.length === name.length && given.toLowerCase() === name) times++
  }
  return times
}
