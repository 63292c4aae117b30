import { postNotice, type ReceiverFiles } from '../administration/notice-receiver.ts'
import * as notices from '../administration/notices.ts'
import type { AuditHead } from '../domain/audit-chain.ts'
import type { Event, Observer } from '../domain/events.ts'
import type { Notice, NoticeChanges } from '../domain/notice.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { type Notices, type Store, StoreUnavailable } from '../domain/store.ts'
import { type Clock, timestamp } from '../domain/time.ts'
import type { StatisticsSource } from '../views/statistics.ts'
import { startLoop } from './loops.ts'

/** Milliseconds between two looks, after each of which what is due is posted. */
const INTERVAL_MS = 15_000

interface NoticesOptions extends notices.NoticeSource {
  store: Notices & Pick<Store, 'listEndingSecrets'>
  statistics: Pick<StatisticsSource, 'read'>
  files: ReceiverFiles
  observe: Observer
  now: Clock
  monotonic: Clock
  interval?: number
}

/** What a look has found besides matters. */
interface Seen extends notices.Completeness {
  auditHead: AuditHead | undefined
}

/**
 * Posts what needs attention to the URL for notices until it is stopped. The queue is in the store, which all
 * nodes share; what is about the store itself is in memory.
 */
export function startNotices(options: NoticesOptions) {
  const { store, files, observe, now, interval = INTERVAL_MS } = options
  const stopping = new AbortController()
  const look = createLook(options)
  let memory = createMemory()
  const oldest = new Map<Notices, number | undefined>()

  /** Plans and posts what is due. */
  async function tend(queue: Notices, matters: notices.NoticeMatter[], seen: Seen): Promise<void> {
    await change(queue, (stored) => notices.planNotices(stored, matters, { ...options, ...seen, now: now() }))
    while (await post(queue));
  }

  /** What the store knows, one node says the end of. */
  async function handOver(): Promise<void> {
    const told = await memory.listNotices()
    if (told.length > 0) await store.updateNotices((stored) => notices.adoptNotices(stored, told))
    oldest.delete(memory)
    memory = createMemory()
  }

  /** Posts the next notice. Resolves to whether another one may follow. */
  async function post(queue: Notices): Promise<boolean> {
    let claimed: Notice | undefined
    await change(queue, (stored) => {
      oldest.set(queue, stored.find(({ dueAt }) => dueAt !== null)?.at)
      const claim = notices.claimNotice(stored, now(), options)
      claimed = claim.claimed
      return claim.changes
    })
    if (!claimed) return false
    const { host, ...delivery } = await postNotice(files, claimed, { now: now(), signal: stopping.signal })
    const settled = notices.settledNotice(claimed, delivery, now())
    await change(queue, () => ({ save: [settled] }))
    observe(eventOf(settled, host))
    return delivery.problem === undefined
  }

  const loop = startLoop(async () => {
    try {
      const { ofStore, others, isUp, ...seen } = await look()
      if (ofStore.length > 0) await tend(memory, ofStore, { ...seen, isWatching: false })
      else await handOver()
      // With another clock, this node would end what others see, and repeat what they have said.
      if (isUp) await tend(store, others, seen)
    } catch (err) {
      // A store that has moved keeps its notices for the server of the new one; one that is unavailable is reported elsewhere.
      const isExpected = err instanceof OperatorError || err instanceof StoreUnavailable || stopping.signal.aborted
      if (!isExpected) observe({ type: 'notices not recorded', err })
    }
    return interval
  })

  return {
    /** When the oldest notice was made that waits; undefined if none does. */
    waitingSince: (): number | undefined =>
      [...oldest.values()].filter((at) => at !== undefined).sort((a, b) => a - b)[0],
    async stop(): Promise<void> {
      stopping.abort()
      await loop.stop()
    },
  }
}

/** Returns a function that finds what it sees for the second time: much is over within seconds. */
function createLook({ store, statistics, now, monotonic }: NoticesOptions) {
  let seenBefore = new Set<string>()
  let watchedSince: number | undefined

  return async () => {
    const seen = await statistics.read()
    const ending = await notices.listEnding(store, now()).catch(() => undefined)
    const isComplete = seen.store.isUp && seen.trouble && seen.endingSecrets && ending
    watchedSince = isComplete ? (watchedSince ?? monotonic()) : undefined
    const matters = notices.noticeMatters(seen, ending ?? [])
    const { ofStore = [], others = [] } = Object.groupBy(
      matters.filter(({ key }) => seenBefore.has(key)),
      ({ kind }) => (kind === 'database unavailable' || kind === 'clocks differ' ? 'ofStore' : 'others'),
    )
    seenBefore = new Set(matters.map(({ key }) => key))
    const isWatching = monotonic() - (watchedSince ?? monotonic()) >= notices.OVER_MS
    const { isUp, auditHead } = seen.store
    return { ofStore, others, isUp, isWatching, isPartial: seen.trouble?.isPartial, auditHead }
  }
}

function eventOf({ messageId: noticeId, event, matter, problem, dueAt }: Notice, host: string | undefined): Event {
  const about = { noticeId, event, matter: matter || undefined, host }
  if (problem === null) return { type: 'notice delivered', ...about }
  return { type: 'notice not delivered', ...about, problem, nextAt: dueAt === null ? undefined : timestamp(dueAt) }
}

/** Most of the time nothing changes, and no transaction is needed to find that out. */
async function change(queue: Notices, decide: (stored: readonly Notice[]) => NoticeChanges): Promise<void> {
  const { save, remove = [] } = decide(await queue.listNotices())
  if (save.length + remove.length > 0) await queue.updateNotices(decide)
}

function createMemory(): Notices {
  const stored = new Map<number, Notice>()
  return {
    listNotices: async () => [...stored.values()],
    async updateNotices(decide) {
      for (const notice of decide([...stored.values()]).save) stored.set(notice.id, notice)
    },
  }
}
