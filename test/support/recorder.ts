import http from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { listenHere } from './listen-here.ts'

/** A request as it arrived somewhere. */
export interface Arrived {
  method: string
  url: string
  headers: http.IncomingHttpHeaders
  rawHeaders: string[]
  body: string
}

/** An HTTP server that notes what arrives. */
export async function startRecorder(
  t: Test,
  answer: (response: http.ServerResponse, headers: http.IncomingHttpHeaders) => void,
) {
  const arrived: Arrived[] = []
  const server = http.createServer(async (request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request
    // Noted before the body is read, so that none is missed that breaks off.
    const entry = { method, url, headers, rawHeaders, body: '' }
    arrived.push(entry)
    entry.body = await text(request)
    answer(response, headers)
  })
  return { arrived, ...(await listenHere(t, server)) }
}
