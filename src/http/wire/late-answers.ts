import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The shortest delay of an answer. */
const DELAY_MS = 1000

/** A random number of steps is added to each delay, so that throttled clients do not all return at the same time. */
const STEPS = 100
const STEP_MS = 10

/** How many connections may have an answer waiting. */
const CAPACITY = 1024

export type LateAnswers = ReturnType<typeof createLateAnswers>

/** Calls `end` with a connection after a delay in milliseconds. */
export type Later = (end: (socket: Socket) => void, delay: number, socket: Socket) => void

/**
 * Delays answers of 429, because a throttled request costs as much as a good one. On a client's own connection, the delay
 * begins again for each throttled request behind the first. On a proxy's connection, shared by many clients, it does not.
 */
export function createLateAnswers({
  isShared,
  capacity = CAPACITY,
  later = setTimeout,
}: {
  isShared: (remoteAddress: string) => boolean
  capacity?: number
  later?: Later | undefined
}) {
  const waiting = new Map<Socket, { answer: () => void; behind: number }>()

  /** Sends an answer later. At capacity, sends it at once, and closes the connection if it is a client's own. */
  function delay(request: FastifyRequest, reply: FastifyReply, answer: () => void): void {
    const { socket } = request.raw
    const isOwn = request.ip === socket.remoteAddress && !isShared(request.ip)
    const first = waiting.get(socket)
    if (!first && waiting.size < capacity) {
      waiting.set(socket, { answer, behind: 0 })
      wait(socket)
      return
    }
    if (!first && isOwn) reply.header('connection', 'close')
    // Node.js sends it after the waiting one, in the order of the requests.
    if (first && isOwn) first.behind++
    answer()
  }

  /** In Node.js, any number of timers is cheap as long as they have few different delays. */
  function wait(socket: Socket): void {
    later(end, DELAY_MS + Math.floor(Math.random() * STEPS) * STEP_MS, socket)
  }

  function end(socket: Socket): void {
    const first = waiting.get(socket)
    if (first && first.behind > 0 && !socket.destroyed) {
      first.behind--
      wait(socket)
    } else {
      waiting.delete(socket)
      first?.answer()
    }
  }

  function sendAll(): void {
    for (const { answer } of waiting.values()) answer()
    waiting.clear()
  }

  return { delay, sendAll }
}
