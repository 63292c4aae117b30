/** What the load program needs to know of a response. */
export interface Response {
  status: number
  /** Bytes of the whole response, head and body. */
  length: number
  /** Whether the server ends the connection after it. */
  closes: boolean
}

/**
 * Reads the response that a text (one character a byte) begins with. Undefined: its head or its body is not whole yet.
 * Throws where it is none, or has no Content-Length.
 */
export function readResponse(text: string): Response | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const status = Number(head.slice(9, 12))
  const length = LENGTH.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 ') || !length) throw new Error(`unreadable response: ${head}`)
  const whole = end + 4 + Number(length)
  return text.length < whole ? undefined : { status, length: whole, closes: CLOSE.test(head) }
}

const LENGTH = /\r\ncontent-length: *(\d+)/i
const CLOSE = /\r\nconnection: *close/i
