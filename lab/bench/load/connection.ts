import { connect, type OnReadOpts, type Socket } from 'node:net'
import { readResponse } from './response.ts'

/** The delay before a new connection replaces a broken one. */
const RECONNECT_DELAY_MS = 10

export interface ConnectionOptions {
  port: number
  /** The next request and its expected status; undefined at the end of the run. */
  next: () => { request: Buffer; expect: number } | undefined
  /** Called for each answer, with its latency. */
  onAnswer: (milliseconds: number, expected: boolean) => void
  onBroken: (reason: string) => void
  /** Called once, after the last answer. */
  onEnd: () => void
}

/**
 * A keep-alive connection with one request in flight. When the server closes it, with or without an answer, a new one
 * replaces it.
 */
export function openConnection({ port, next, onAnswer, onBroken, onEnd }: ConnectionOptions) {
  // One buffer for all reads: an allocation per read would be a large part of the cost of a request.
  const buffer = Buffer.allocUnsafe(64 * 1024)
  let socket: Socket
  let pending = ''
  /** The request that is not answered yet. */
  let current: ReturnType<ConnectionOptions['next']>
  let sentAt = 0
  let ended = false

  function open(): void {
    pending = ''
    current = undefined
    const opened = openSocket(port, { buffer, callback: read }, send, (reason) => {
      if (ended || socket !== opened) return
      onBroken(reason)
      setTimeout(() => ended || open(), RECONNECT_DELAY_MS)
    })
    socket = opened
  }

  function send(): void {
    current = next()
    sentAt = performance.now()
    if (current) socket.write(current.request)
    else end()
  }

  function read(bytes: number): boolean {
    const text = buffer.toString('latin1', 0, bytes)
    try {
      take(pending === '' ? text : pending + text)
    } catch (error) {
      socket.destroy(error as Error)
    }
    return true
  }

  function take(text: string): void {
    const response = readResponse(text)
    pending = response ? '' : text
    if (!response) return
    if (!current || response.length !== text.length) throw new Error('more than one answer to a request')
    const { expect } = current
    current = undefined
    onAnswer(performance.now() - sentAt, response.status === expect)
    if (response.closes) {
      const old = socket
      open()
      old.destroy()
    } else send()
  }

  function end(): void {
    ended = true
    socket.destroy()
    onEnd()
  }

  open()
  return {
    /** Ends the connection without waiting for its answer any longer. */
    abandon(): void {
      if (ended) return
      onBroken('no answer')
      end()
    },
  }
}

function openSocket(
  port: number,
  onread: OnReadOpts,
  onConnect: () => void,
  onClose: (reason: string) => void,
): Socket {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread })
  let reason = 'the server closed the connection'
  socket.once('connect', onConnect)
  socket.once('error', (error) => {
    reason = error.message
  })
  socket.once('close', () => onClose(reason))
  return socket
}
