import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as text, so that it need not be right. A header that is a list goes once for each. */
export interface Sent {
  method: string
  target: string
  headers: Record<string, string | string[]>
  body?: string
  /** Ends like this, and not with the body; `open` leaves the client's side open, as if more came. */
  raw?: { headers: string; open?: boolean }
}

export interface Answered {
  status: number
  /** By their names in lower case. */
  headers: Record<string, string>
  body: string
}

/** Sends a request on a connection of its own and reads its answer. */
export async function exchange(port: number, sent: Sent): Promise<Answered> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const bytes = bytesOf(sent)
  if (sent.raw?.open) socket.write(bytes)
  else socket.end(bytes)
  const answer = await text(socket)
  socket.end()
  return parsed(answer)
}

function bytesOf({ method, target, headers, body = '', raw }: Sent): string {
  const lines = Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${value}`))
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  const head = [`${method} ${target} HTTP/1.1`, ...lines, ''].join('\r\n')
  return raw ? head + raw.headers : `${head}\r\n${body}`
}

function parsed(answer: string): Answered {
  const [, head = '', body = ''] = /^([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(answer) ?? []
  const [first = '', ...lines] = head.split('\r\n')
  const pairs = lines.map((line) => line.split(/: (.*)/s)).map(([name = '', value]) => [name.toLowerCase(), value])
  const headers = Object.fromEntries(pairs)
  const isChunked = headers['transfer-encoding'] === 'chunked'
  return { status: Number(first.split(' ')[1]), headers, body: isChunked ? unchunked(Buffer.from(body)) : body }
}

/** Removes the chunked transfer coding (RFC 9112 §7.1). */
function unchunked(body: Buffer): string {
  const begin = body.indexOf('\r\n') + 2
  const size = Number.parseInt(body.toString(), 16)
  if (size === 0) return ''
  return body.subarray(begin, begin + size) + unchunked(body.subarray(begin + size + 2))
}
