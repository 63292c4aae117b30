import type { Changing } from './chart.ts'

/** How many listen at a time; and how many of one operator, so that nobody keeps all others out. */
const MAX_LISTENERS = 16
const MAX_OF_OPERATOR = 4

const INTERVAL_MS = 1000

/** After so many intervals it is seen whether a session has ended. */
const SESSION_EVERY = 5

/** When a browser comes again whose stream has ended, in milliseconds. */
const BEGIN = 'retry: 3000\n\n'
const SESSION_ENDED = 'event: ended\ndata: {}\n\n'
/** The operator has opened more than may be live at a time. */
const ELSEWHERE = 'event: elsewhere\ndata: {}\n\n'
/** Also to find out that nobody reads any more. */
const HEARTBEAT = ':\n\n'

interface Options {
  read: () => Promise<Changing>
  interval?: number
}

/** An event stream (HTML, server-sent events). */
export interface Listener {
  /** The name of who listens. */
  operator: string
  isSignedIn: () => Promise<boolean>
  /** Whether it has not taken yet what it was told before. */
  isBusy: () => boolean
  tell: (event: string) => void
  end: () => void
}

/** What changes, for all who listen: it is read once for all of them, and while nobody listens not at all. */
export function createBroadcast({ read, interval = INTERVAL_MS }: Options) {
  /** Each with what it was told. */
  const listeners = new Map<Listener, Changing>()
  let timer: NodeJS.Timeout | undefined
  let turn = 0
  let present: Changing = {}
  let isReading = false
  let hasEnded = false

  async function tick(): Promise<void> {
    if (isReading) return
    isReading = true
    // What cannot be had stays as it was.
    present = await read().catch(() => present)
    isReading = false
    turn++
    if (turn % SESSION_EVERY === 0) await Promise.all([...listeners.keys()].map(endWithSession))
    for (const listener of listeners.keys()) tellNews(listener)
  }

  /** Ends one whose session has ended. A store that does not answer ends none. */
  async function endWithSession(listener: Listener): Promise<void> {
    const isSignedIn = await listener.isSignedIn().catch(() => true)
    if (!isSignedIn && listeners.has(listener)) dismiss(listener, SESSION_ENDED)
  }

  /** Ends the oldest of an operator who has as many as there may be. */
  function makeRoom(operator: string): void {
    const own = [...listeners.keys()].filter((listener) => listener.operator === operator)
    for (const listener of own.slice(0, 1 - MAX_OF_OPERATOR)) dismiss(listener, ELSEWHERE)
  }

  function dismiss(listener: Listener, reason: string): void {
    listener.tell(reason)
    leave(listener)
    listener.end()
  }

  /** Tells what has changed since it was told. */
  function tellNews(listener: Listener): void {
    const told = listeners.get(listener)
    if (!told || listener.isBusy()) return
    const news = Object.entries(present).filter(([name, value]) => told[name] !== value)
    for (const [name, value] of news) told[name] = value
    listener.tell(news.length === 0 ? HEARTBEAT : `data: ${JSON.stringify(Object.fromEntries(news))}\n\n`)
  }

  function leave(listener: Listener): void {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** Whether one more may listen; who does is signed in now. */
    join(listener: Listener): boolean {
      if (hasEnded) return false
      makeRoom(listener.operator)
      if (listeners.size >= MAX_LISTENERS) return false
      listeners.set(listener, {})
      listener.tell(BEGIN)
      if (timer) tellNews(listener)
      else void tick()
      timer ??= setInterval(tick, interval).unref()
      return true
    },
    leave,

    /** Ends all streams. */
    end(): void {
      hasEnded = true
      for (const listener of listeners.keys()) {
        leave(listener)
        listener.end()
      }
    },
  }
}
