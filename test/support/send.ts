import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectByTls } from 'node:tls'

interface Sent {
  method?: string
  headers?: Record<string, string | string[]>
  body?: string | string[]
  ca?: string
}

/**
 * Sends one request. A header with a list of values goes once for each; a body that is a list goes in chunks. With a
 * certificate `ca`, it goes over TLS to `localhost`.
 */
export async function send(address: string, path: string, { method = 'GET', headers = {}, body, ca }: Sent = {}) {
  const [host, port] = address.split(':')
  const framing = Array.isArray(body)
    ? { 'transfer-encoding': 'chunked' }
    : body && { 'content-length': Buffer.byteLength(body) }
  const options = { host, port, path, method, headers: { ...headers, ...framing }, agent: false }
  const name = { ca, servername: 'localhost', headers: { host: `localhost:${port}`, ...options.headers } }
  const request = ca ? https.request({ ...options, ...name }) : http.request(options)
  for (const chunk of [body ?? []].flat()) request.write(chunk)
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { status: response.statusCode as number, headers: response.headers, body: await text(response) }
}

/** Sends bytes that need not be HTTP, with a certificate `ca` over TLS, and reads until the other side is done. */
export async function sendBytes(address: string, bytes: string | Buffer, ca?: string): Promise<string> {
  const [host, port] = address.split(':')
  const options = { host, port: Number(port) }
  const socket = ca ? connectByTls({ ...options, ca, servername: 'localhost' }) : connect(options)
  socket.write(bytes)
  return text(socket)
}
