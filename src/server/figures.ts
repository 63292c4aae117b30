import type { LiveTokens } from '../domain/statistics.ts'
import type { Figures, Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { HOUR, hourOf } from '../domain/usage.ts'
import type { Measured } from '../telemetry/metrics/exposition.ts'
import { createFleet } from '../telemetry/metrics/fleet.ts'
import type { Numbers } from '../telemetry/metrics/numbers.ts'

/** The processes that answer requests. */
export interface Workers {
  expected: number
  serving: () => number
}

export type ServerFigures = ReturnType<typeof createServerFigures>

/** The figures of a server: the counters and samples of its processes, and the figures of its store. */
export function createServerFigures(
  numbers: Numbers,
  workers: Workers,
  { now = Date.now, monotonic = () => performance.now() }: { now?: Clock; monotonic?: Clock } = {},
) {
  const fleet = createFleet(numbers, workers.expected)
  return { numbers, workers, fleet, ofStore: createStoreFigures({ now, monotonic }), now, monotonic }
}

/** How long a scrape waits for the store, which may hang. Milliseconds. */
const PATIENCE_MS = 1000

/** How long what costs a query is good enough. Milliseconds. */
const MAX_AGE_MS = 15_000

/** The same for live tokens and nodes, which the overview updates live. Milliseconds. */
const LIVE_MAX_AGE_MS = 5000

/** How many of the applications and suites that soon lose their last secret are listed. */
const MAX_ENDING = 20

const MAX_NODES = 100

const DAY = 24 * 60 * 60 * 1000

export type StoreSource = Figures & Pick<Store, 'ping' | 'clockOffset' | 'nodes'>

interface Options {
  now: Clock
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
}

/** What is measured of a store that may hang, or may not be open yet. */
function createStoreFigures({ now, monotonic }: Options) {
  let store: StoreSource | undefined
  const opened = async () => store ?? Promise.reject(new Error('The store is not open yet.'))
  const share = <Figure>(maxAge: number, ask: (store: StoreSource) => Promise<Figure>) =>
    shareFigure(async () => ask(await opened()), { maxAge, patience: PATIENCE_MS, monotonic })
  const ping = share(0, (store) => store.ping())
  const queried = share(MAX_AGE_MS, (store) => query(store, now()))
  const ending = share(MAX_AGE_MS, (store) => store.listEndingSecrets(now(), now() + 7 * DAY, MAX_ENDING))
  const nodes = share(LIVE_MAX_AGE_MS, async (store) => store.nodes?.list(MAX_NODES))
  const live = share(LIVE_MAX_AGE_MS, (store) => countLiveTokens(store, now()))

  async function isUp(): Promise<boolean> {
    return (await ping()).isFresh
  }

  /** The figures of /metrics. Undefined while unknown. */
  async function readBasic() {
    const [up, { figure }] = await Promise.all([isUp(), queried()])
    return { isUp: up, ...figure }
  }

  /** The same, and the figures that only the statistics have. */
  async function readAll() {
    const reads = Promise.all([readBasic(), live(), ending(), nodes()])
    const [basic, { figure: liveTokens }, { figure: next }, { figure: known }] = await reads
    const { endingInADay: inADay, endingInAWeek: inAWeek } = basic
    const areKnown = inADay !== undefined && inAWeek !== undefined && next !== undefined
    return { ...basic, liveTokens, nodes: known, endingSecrets: areKnown ? { inADay, inAWeek, next } : undefined }
  }

  return {
    /** Sets the store to measure. */
    open(opened: StoreSource): void {
      store = opened
    },
    isUp,
    readAll,

    async measure(): Promise<Measured> {
      const { isUp, size, oldestTokenAt, endingInADay, endingInAWeek, lastBackupAt } = await readBasic()
      const expiredFor = oldestTokenAt === undefined ? 0 : now() - oldestTokenAt - TOKEN_LIFETIME
      return {
        store_up: [[[], isUp ? 1 : 0]],
        database_bytes: [[[], size?.database ?? 0]],
        wal_bytes: [[[], size?.log ?? 0]],
        oldest_expired_token_seconds: [[[], Math.max(0, expiredFor) / 1000]],
        secrets_ending: [
          [['1d'], endingInADay ?? 0],
          [['7d'], endingInAWeek ?? 0],
        ],
        last_backup_timestamp_seconds: [[[], (lastBackupAt ?? 0) / 1000]],
        clock_offset_seconds: [[[], (store?.clockOffset() ?? 0) / 1000]],
      }
    },
  }
}

async function query(store: Figures, now: number) {
  const [size, oldestTokenAt, endingInADay, endingInAWeek, lastBackupAt] = await Promise.all([
    store.size(),
    store.oldestTokenAt(),
    store.countEndingSecrets(now, now + DAY),
    store.countEndingSecrets(now, now + 7 * DAY),
    store.lastBackupAt(),
  ])
  return { size, oldestTokenAt, endingInADay, endingInAWeek, lastBackupAt }
}

/** Up to this number, tokens are counted exactly: about 50 ms of work, in steps of less than a millisecond. */
const MAX_COUNTED = 100_000

/**
 * Counts the tokens that a check would find active. Above MAX_COUNTED it estimates them from the hourly counts of issued
 * tokens. Throws StoreUnavailable.
 */
export async function countLiveTokens(
  store: Pick<Figures, 'countLiveTokens' | 'countIssued'>,
  now: number,
): Promise<LiveTokens> {
  const count = await store.countLiveTokens(firstTokenIdAt(now - TOKEN_LIFETIME + 1), MAX_COUNTED)
  if (count !== undefined) return { count, isExact: true }
  const hour = hourOf(now)
  const [previous, current] = [await store.countIssued(hour - 1), await store.countIssued(hour)]
  const elapsed = now / HOUR - hour
  return { count: Math.max(MAX_COUNTED, Math.round(previous * (1 - elapsed) + current)), isExact: false }
}

interface ShareOptions {
  /** How long an answer is good enough, from when it came. Milliseconds. */
  maxAge: number
  /** How long an answer is waited for. Milliseconds. */
  patience: number
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
}

/**
 * Returns a function that resolves soon to a figure, whatever becomes of the question for it: all share one question, and
 * there is no other one before it is answered, or has failed. `isFresh`: whether the last question was answered, and in time.
 */
export function shareFigure<Figure>(ask: () => Promise<Figure>, { maxAge, patience, monotonic }: ShareOptions) {
  let known: Figure | undefined
  let answeredAt = Number.NEGATIVE_INFINITY
  let isFresh = false
  let asking: Promise<void> | undefined

  async function question(): Promise<void> {
    isFresh = false
    try {
      known = await ask()
      answeredAt = monotonic()
      isFresh = true
    } catch {
      // Whoever needs it next asks again, and until then it is what it was.
    }
    asking = undefined
  }

  async function waitFor(answer: Promise<void>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patience)
    await Promise.race([answer, late])
    clearTimeout(timer)
  }

  return async (): Promise<{ figure: Figure | undefined; isFresh: boolean }> => {
    if (!asking && monotonic() - answeredAt >= maxAge) asking = question()
    if (asking) await waitFor(asking)
    return { figure: known, isFresh }
  }
}
