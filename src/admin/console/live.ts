import { PassThrough } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { callerOf } from '../wire/caller.ts'
import type { LiveValues } from './chart.ts'
import { overviewLiveValues } from './figures.ts'

/**
 * GET /live: an event stream with the changed values of the overview, once a second. It does not keep the session alive, and
 * ends with it.
 */
export function serveLive(console: FastifyInstance, { signIn, statistics, liveInterval }: AdminContext): void {
  const broadcast = createBroadcast({
    read: async () => overviewLiveValues(await statistics.read()),
    interval: liveInterval,
  })
  console.addHook('preClose', async () => broadcast.end())

  console.get('/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { credential, operator } = callerOf(request)
    const stream = new PassThrough()
    const listener: Listener = {
      operator: operator.name,
      isSignedIn: async () => (await signIn.findSession(credential, { touch: false })) !== undefined,
      isBusy: () => stream.writableNeedDrain,
      tell: (event) => void stream.write(event),
      end: () => void stream.end(),
    }
    if (!broadcast.join(listener)) {
      return reply.code(503).header('retry-after', '30').type('text/plain').send('Too many pages are open.\n')
    }
    stream.once('close', () => broadcast.leave(listener))
    // Prevents nginx from buffering the events.
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no').send(stream)
  })
}

/** Concurrent streams in total, and per operator, so that one operator cannot take them all. */
const MAX_LISTENERS = 16
const MAX_PER_OPERATOR = 4

const INTERVAL_MS = 1000

/** Sessions are checked every five intervals. */
const SESSION_EVERY = 5

/** Tells the browser to reconnect 3 seconds after the stream has ended. */
const BEGIN = 'retry: 3000\n\n'
const SESSION_ENDED = 'event: ended\ndata: {}\n\n'
/** Replaced by a newer stream of the same operator. */
const ELSEWHERE = 'event: elsewhere\ndata: {}\n\n'
/** A comment, sent when nothing has changed. It also reveals closed connections. */
const HEARTBEAT = ':\n\n'

/** The connection of one event stream (HTML, server-sent events). */
export interface Listener {
  /** The name of the operator. */
  operator: string
  isSignedIn: () => Promise<boolean>
  /** Whether earlier events are still buffered. */
  isBusy: () => boolean
  tell: (event: string) => void
  end: () => void
}

interface Options {
  read: () => Promise<LiveValues>
  interval?: number | undefined
}

/** Sends changed figures to all listeners. The figures are read once for all, and only while anybody listens. */
export function createBroadcast({ read, interval = INTERVAL_MS }: Options) {
  /** Each with the values sent so far. */
  const listeners = new Map<Listener, LiveValues>()
  let timer: NodeJS.Timeout | undefined
  let turn = 0
  let present: LiveValues = {}
  let isReading = false
  let hasEnded = false

  async function tick(): Promise<void> {
    if (isReading) return
    isReading = true
    // If reading fails, the previous figures stay.
    present = await read().catch(() => present)
    isReading = false
    turn++
    if (turn % SESSION_EVERY === 0) await Promise.all([...listeners.keys()].map(endWithSession))
    for (const [listener, sent] of listeners) sendChanges(listener, sent, present)
  }

  /** Ends the stream if its session has ended. While the store is unavailable, the session counts as active. */
  async function endWithSession(listener: Listener): Promise<void> {
    const isSignedIn = await listener.isSignedIn().catch(() => true)
    if (!isSignedIn && listeners.has(listener)) dismiss(listener, SESSION_ENDED)
  }

  /** Ends the oldest streams of an operator who is at the limit. */
  function makeRoom(operator: string): void {
    const own = [...listeners.keys()].filter((listener) => listener.operator === operator)
    for (const listener of own.slice(0, 1 - MAX_PER_OPERATOR)) dismiss(listener, ELSEWHERE)
  }

  function dismiss(listener: Listener, reason?: string): void {
    if (reason !== undefined) listener.tell(reason)
    leave(listener)
    listener.end()
  }

  function leave(listener: Listener): void {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** Adds a listener that is signed in. Returns false if there are too many, or the server is closing. */
    join(listener: Listener): boolean {
      if (hasEnded) return false
      makeRoom(listener.operator)
      if (listeners.size >= MAX_LISTENERS) return false
      const sent = {}
      listeners.set(listener, sent)
      listener.tell(BEGIN)
      if (timer) sendChanges(listener, sent, present)
      else void tick()
      timer ??= setInterval(tick, interval).unref()
      return true
    },
    leave,

    /** Ends all streams. */
    end(): void {
      hasEnded = true
      for (const listener of listeners.keys()) dismiss(listener)
    },
  }
}

/** Sends the values that have changed since the last event. */
function sendChanges(listener: Listener, sent: LiveValues, present: LiveValues): void {
  if (listener.isBusy()) return
  const changes = Object.entries(present).filter(([name, value]) => sent[name] !== value)
  for (const [name, value] of changes) sent[name] = value
  listener.tell(changes.length === 0 ? HEARTBEAT : `data: ${JSON.stringify(Object.fromEntries(changes))}\n\n`)
}
