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
 * it is not a response, or has no Content-Length.
 */
export function readResponse(text: string): Response | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const status = Number(head.slice(9, 12))
  const length = LENGTH.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 ') || !length) throw new Error(`unreadable response: ${head}`)
  const total = end + 4 + Number(length)
  return text.length < total ? undefined : { status, length: total, closes: CLOSE.test(head) }
}

const LENGTH = /\r\ncontent-length: *(\d+)/i
const CLOSE = /\r\nconnection: *close/i
