import type { IncomingMessage } from 'node:http'

/**
 * Whether a request that Node.js can parse is refused all the same: another version than HTTP/1 (RFC 9110 §15.6.6), an unknown
 * transfer coding (RFC 9112 §6.1), or two Host headers (RFC 9112 §3.2). A proxy may read such a request in another way, and
 * hand the answer to the wrong client.
 */
export function isAmbiguous({ httpVersionMajor, httpVersionMinor, headers, rawHeaders }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  const isKnownCoding = coding === undefined || coding.toLowerCase() === 'chunked'
  return httpVersionMajor !== 1 || httpVersionMinor > 1 || !isKnownCoding || countHosts(rawHeaders) > 1
}

/** `rawHeaders`: names and values in turn. */
function countHosts(rawHeaders: string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
