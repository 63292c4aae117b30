import { postNotice, type Receiver, type ReceiverFiles, readReceiver } from '../administration/notice-receiver.ts'
import {
  claimNotice,
  type Delivery,
  FIRST_STAGE_MS,
  keyOf,
  type NoticeSource,
  noticeMatters,
  OVER_MS,
  planNotices,
  settledNotice,
} from '../administration/notices.ts'
import type { Event, Observer } from '../domain/events.ts'
import type { Notice, NoticeChanges } from '../domain/notice.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { type Store, StoreUnavailable } from '../domain/store.ts'
import { type Clock, timestamp } from '../domain/time.ts'
import type { StatisticsSource } from '../views/statistics.ts'
import { isWildcard } from '../web/address.ts'
import { startLoop } from './loops.ts'

/** How often it is looked for what needs attention. Milliseconds. */
const LOOK_MS = 30_000

/** How many ending secrets have a notice. */
const MAX_ENDING = 1000

interface NoticesOptions extends NoticeSource {
  store: Pick<Store, 'listNotices' | 'updateNotices' | 'listEndingSecrets'>
  statistics: Pick<StatisticsSource, 'read'>
  files: ReceiverFiles
  observe: Observer
  now: Clock
  monotonic: Clock
  lookInterval?: number
}

type Decide = (stored: readonly Notice[]) => NoticeChanges

/**
 * Posts what needs attention to the URL for notices, until it is stopped. The notices are in the store, where all nodes find
 * them. While the store is unavailable, this node posts what it sees itself, and stores that later.
 */
export function startNotices(options: NoticesOptions) {
  const { store, statistics, observe, now, monotonic, lookInterval = LOOK_MS } = options
  const stopping = new AbortController()
  const queue = createQueue(store)
  let seenBefore = new Set<string>()
  let nextLook = monotonic()
  let watchedSince: number | undefined

  /** Plans notices for what is seen for the second time: much is over within seconds. */
  async function look(): Promise<void> {
    const seen = await statistics.read()
    const ending = await store.listEndingSecrets(now(), now() + FIRST_STAGE_MS, MAX_ENDING).catch(() => undefined)
    const isComplete = seen.store.isUp && seen.trouble && seen.endingSecrets && ending
    watchedSince = isComplete ? (watchedSince ?? monotonic()) : undefined
    const isWatching = watchedSince !== undefined && monotonic() - watchedSince >= OVER_MS
    const matters = noticeMatters(seen, ending ?? [])
    const lasting = matters.filter((matter) => seenBefore.has(keyOf(matter)))
    seenBefore = new Set(matters.map(keyOf))
    const plan = { ...options, now: now(), isWatching }
    await queue.update((stored) => planNotices(stored, lasting, plan))
  }

  async function step(): Promise<number> {
    if (monotonic() >= nextLook) {
      nextLook = monotonic() + lookInterval
      await look()
    }
    while (await post(queue, options, stopping.signal));
    // What is due already waits for a place among those of this hour.
    const due = queue.dueAt() - now()
    return Math.max(Math.min(nextLook - monotonic(), due > 0 ? due : lookInterval), 0)
  }

  const loop = startLoop(async () => {
    try {
      return await step()
    } catch (err) {
      // A store that has moved keeps its notices for the server of the new one.
      if (!stopping.signal.aborted && !(err instanceof OperatorError)) observe({ type: 'notices not recorded', err })
      return lookInterval
    }
  })

  return {
    /** When the oldest notice was made that waits; undefined if none does. */
    waitingSince: queue.waitingSince,
    async stop(): Promise<void> {
      stopping.abort()
      await loop.stop()
    },
  }
}

/** Where links in notices lead: to the address of the admin listener, unless that is a socket or every address of this machine. */
export function consoleUrlOf(address = ''): string | undefined {
  const url = URL.parse(address)
  return url?.protocol === 'http:' && !isWildcard(url.hostname.replace(/^\[|\]$/g, '')) ? url.origin : undefined
}

/** Posts the next notice. Resolves to whether another one may follow. */
async function post(queue: Queue, options: NoticesOptions, signal: AbortSignal): Promise<boolean> {
  const { files, now, observe } = options
  let claimed: Notice | undefined
  await queue.update((stored) => {
    const claim = claimNotice(stored, now(), options)
    claimed = claim.claimed
    return claim.changes
  })
  if (!claimed) return false
  const { messageId } = claimed
  const { host, delivery } = await deliver(claimed, files, now(), signal)
  let settled = settledNotice(claimed, delivery, now())
  await queue.update((stored) => {
    const current = stored.find((one) => one.messageId === messageId)
    if (!current) return { save: [] }
    settled = settledNotice(current, delivery, now())
    return { save: [settled] }
  })
  observe(reportOf(settled, host))
  return delivery.problem === undefined
}

function reportOf({ messageId, event, matter, attempts, problem, dueAt }: Notice, host: string | undefined): Event {
  const about = { noticeId: messageId, event, matter: matter || undefined, host, attempts }
  if (problem === null) return { type: 'notice delivered', ...about }
  return { type: 'notice not delivered', ...about, problem, nextAt: dueAt === null ? undefined : timestamp(dueAt) }
}

/** Reads the files for each attempt, so that changed ones need no restart. */
async function deliver(notice: Notice, files: ReceiverFiles, now: number, signal: AbortSignal) {
  let receiver: Receiver
  try {
    receiver = await readReceiver(files)
  } catch (error) {
    const delivery: Delivery = { problem: (error as Error).message }
    return { host: undefined, delivery }
  }
  return { host: receiver.url.host, delivery: await postNotice(receiver, notice, { now, signal }) }
}

type Queue = ReturnType<typeof createQueue>

/** The stored notices, and those of this process that cannot be stored yet. */
function createQueue(store: Pick<Store, 'listNotices' | 'updateNotices'>) {
  /** As they were last, without what waits there while the store is unavailable: another node may post that. */
  let known: Notice[] = []
  let unsaved: Notice[] = []
  const waiting = () => known.filter(({ dueAt }) => dueAt !== null)

  async function update(decide: Decide): Promise<void> {
    try {
      if (unsaved.length === 0) {
        known = await store.listNotices()
        const { save, remove = [] } = decide(known)
        if (save.length + remove.length === 0) return
      }
      await store.updateNotices((stored) => {
        const adopted = adopt(stored, unsaved)
        const all = [...stored, ...adopted]
        const { save, remove = [] } = decide(all)
        known = merge(all, save)
        return { save: merge(adopted, save), remove }
      })
      unsaved = []
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      const isOwn = ({ id }: Notice) => unsaved.some((one) => one.id === id)
      const others = known.filter((one) => !isOwn(one)).map((one) => ({ ...one, dueAt: null }))
      const { save } = decide([...others, ...unsaved])
      unsaved = merge(
        unsaved,
        save.filter(({ id }) => !others.some((one) => one.id === id)),
      )
      known = [...others, ...unsaved]
    }
  }

  return {
    update,
    waitingSince: () => waiting()[0]?.at,
    dueAt: () => waiting()[0]?.dueAt ?? Infinity,
  }
}

/** By id; the later ones replace the earlier ones. */
function merge(notices: readonly Notice[], changed: readonly Notice[]): Notice[] {
  return [...new Map([...notices, ...changed].map((one) => [one.id, one])).values()].sort(
    (one, other) => one.id - other.id,
  )
}

/** Notices that could not be stored, with ids after those that are. A matter that another node has begun is not begun again. */
function adopt(stored: readonly Notice[], unsaved: readonly Notice[]): Notice[] {
  const newest = new Map(stored.map((one) => [one.matter, one.event]))
  const isOpen = ({ matter }: Notice) => newest.has(matter) && newest.get(matter) !== 'ended'
  const last = stored.at(-1)?.id ?? 0
  return unsaved
    .filter((one) => one.event === 'counted' || !isOpen(one))
    .map((one, index) => ({ ...one, id: last + 1 + index }))
}
