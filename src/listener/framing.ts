import type { IncomingMessage } from 'node:http'

/** Why a request that Node.js can parse is refused all the same. */
export type FramingFault = 'HTTP version not supported' | 'Host header repeated' | 'transfer coding not supported'

/**
 * The framing error of a request; undefined for none. Servers and proxies that read such a request in different ways can be
 * made to answer the wrong client.
 */
export function faultOf({
  httpVersionMajor,
  httpVersionMinor,
  headers,
  rawHeaders,
}: IncomingMessage): FramingFault | undefined {
  // RFC 9110 §15.6.6.
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) return 'HTTP version not supported'
  // RFC 9112 §6.1.
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return 'transfer coding not supported'
  // RFC 9112 §3.2. Node.js uses the first one, a proxy may use the last.
  return countHosts(rawHeaders) > 1 ? 'Host header repeated' : undefined
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
