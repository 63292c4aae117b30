import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** How long an answer waits at least. */
const DELAY_MS = 1000

/** Answers wait a little longer, each by one of so many steps, so that who is slowed down does not come back all at once. */
const STEPS = 100
const STEP_MS = 10

/** On how many connections answers may wait. */
const CAPACITY = 1024

export type LateAnswers = ReturnType<typeof createLateAnswers>

/** Calls `end` with a connection after a time, in milliseconds. */
export type Later = (end: (socket: Socket) => void, delay: number, socket: Socket) => void

/**
 * Slows down who sends on and on what is refused for its number, for it costs as much as a good request: the answer waits,
 * and on a client's own connection once more for each that comes behind it. A proxy's connection is the way of many
 * clients, so it never waits for longer; `isShared` knows the addresses of proxies.
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

  /** Gives an answer in its time. Where too many wait it is given now, and ends a client's own connection. */
  function give(request: FastifyRequest, reply: FastifyReply, answer: () => void): void {
    const { socket } = request.raw
    const isOwn = request.ip === socket.remoteAddress && !isShared(request.ip)
    const first = waiting.get(socket)
    if (!first && waiting.size < capacity) {
      waiting.set(socket, { answer, behind: 0 })
      wait(socket)
      return
    }
    if (!first && isOwn) reply.header('connection', 'close')
    // Answers leave in the order of the requests.
    if (first && isOwn) first.behind++
    answer()
  }

  /** Timers of few lengths are cheap in Node.js, however many there are. */
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

  /** Gives all answers now. */
  function giveAll(): void {
    for (const { answer } of waiting.values()) answer()
    waiting.clear()
  }

  return { give, giveAll }
}
