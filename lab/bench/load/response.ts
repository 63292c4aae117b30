/** What the load program needs to know about a response. */
export interface Response {
  status: number
  /** Bytes of head and body. */
  length: number
  /** Whether the server closes the connection after it. */
  closes: boolean
}

/**
 * Reads the response at the beginning of a text (one character per byte). Undefined if it is not complete yet. Throws if
 * it is not a response. One without a Content-Length is in chunks.
 */
export function readResponse(text: string): Response | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const status = Number(head.slice(9, 12))
  const length = LENGTH.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 ') || !(length || CHUNKED.test(head))) throw new Error(`unreadable response: ${head}`)
  const total = length ? end + 4 + Number(length) : endOfChunks(text, end)
  return total === undefined || text.length < total ? undefined : { status, length: total, closes: CLOSE.test(head) }
}

/** The last chunk is empty. No chunk of JSON or HTML looks like it. */
function endOfChunks(text: string, headEnd: number): number | undefined {
  const last = text.indexOf(LAST_CHUNK, headEnd + 2)
  return last === -1 ? undefined : last + LAST_CHUNK.length
}

const LAST_CHUNK = '\r\n0\r\n\r\n'
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
const LENGTH = /\r\ncontent-length: *(\d+)/i
const CLOSE = /\r\nconnection: *close/i
