import type { Socket } from 'node:net'
import { ACCESS_TOKEN_PATH } from '../../../src/http/access-token.ts'
import { REVOKE_PATH } from '../../../src/http/revoke.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import { verifyRequest } from '../../bench/world/requests.ts'
import { dial } from './dial.ts'

/** By default, a connection on which nothing arrives for this long counts as broken. */
const TIMEOUT_MS = 5000

/** Where requests go: to a port, or in turns to those of the nodes that take requests, a list that may change. */
export type Ports = number | readonly number[]

let turn = 0

export interface Answer {
  status: number
  head: string
  body: string
}

/** Complete HTTP/1.1 requests, as text. */
export const tokenRequest = ({ client_id, client_secret }: Credentials, headers = '') =>
  form(ACCESS_TOKEN_PATH, { grant_type: 'client_credentials', client_id, client_secret }, headers)
export const revokeRequest = ({ client_id, client_secret }: Credentials, token: string) =>
  form(REVOKE_PATH, { client_id, client_secret, token })

function form(path: string, fields: Record<string, string>, headers = ''): string {
  const body = new URLSearchParams(fields).toString()
  const type = 'Content-Type: application/x-www-form-urlencoded'
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

export type Client = ReturnType<typeof openClient>

/** A keep-alive connection with one request at a time. A broken one is replaced by the next request. */
export function openClient(ports: Ports, { timeout = TIMEOUT_MS } = {}) {
  const all = typeof ports === 'number' ? [ports] : ports
  let port = 0
  let socket: Socket | undefined
  let pending = ''
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined

  function open(): Socket {
    port = all[turn++ % all.length] as number
    const opened = dial({ port, noDelay: true })
    pending = ''
    opened.setEncoding('latin1')
    opened.on('data', (chunk: string) => {
      // Bytes that no request has asked for must not become the beginning of the next answer.
      if (!waiting) return drop(opened)
      pending += chunk
      const answer = readAnswer(pending)
      if (!answer) return
      if (pending.length > answer.length || /\r\nconnection: close/i.test(answer.head)) drop(opened)
      pending = ''
      settle()?.resolve(answer)
    })
    // Gives up at once, not when the connection is closed: the next request may come before that.
    opened.setTimeout(timeout, () => giveUp(opened, 'nothing came for too long'))
    opened.on('error', () => {})
    opened.on('close', () => {
      if (socket !== opened) return
      socket = undefined
      settle()?.reject(new Error('the connection was closed'))
    })
    return opened
  }

  function drop(opened: Socket): void {
    if (socket === opened) socket = undefined
    opened.destroy()
  }

  function giveUp(opened: Socket | undefined, why: string): void {
    if (opened) drop(opened)
    settle()?.reject(new Error(why))
  }

  function settle() {
    const one = waiting
    waiting = undefined
    return one
  }

  /** Sends a request and resolves to its answer. Rejects when the connection ends before. Throws while an answer is pending. */
  function send(request: string): Promise<Answer> {
    if (waiting) throw new Error('an answer is still pending on this connection')
    if (socket && !all.includes(port)) drop(socket)
    return new Promise((resolve, reject) => {
      waiting = { resolve, reject }
      socket ??= open()
      socket.write(request)
    })
  }

  /** Resolves to a token, or to undefined if the status is not 200. */
  async function token(application: Credentials): Promise<string | undefined> {
    const { status, body } = await send(tokenRequest(application))
    return status === 200 ? JSON.parse(body).access_token : undefined
  }

  return {
    send,
    token,
    status: async (request: string) => (await send(request)).status,
    isValid: async (token: string) => (await send(verifyRequest(token))).status === 200,
    revoke: async (application: Credentials, token: string) =>
      (await send(revokeRequest(application, token))).status === 200,
    /** Ends the connection; the request that is under way, if any, is rejected. */
    close: () => giveUp(socket, 'the connection was given up'),
  }
}

/** Reads the answer at the beginning of a text (one character per byte); undefined if it is not complete. */
function readAnswer(text: string): (Answer & { length: number }) | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const length = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  if (text.length < length) return undefined
  return { status: Number(head.slice(9, 12)), head, body: text.slice(end + 4, length), length }
}
