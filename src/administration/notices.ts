import type { KeyObject } from 'node:crypto'
import type { AuditHead } from '../domain/audit-chain.ts'
import type { Notice, NoticeChanges } from '../domain/notice.ts'
import type { EndingSecret } from '../domain/statistics.ts'
import type { Store } from '../domain/store.ts'
import { many, randomString } from '../domain/text.ts'
import { MINUTE, timestamp } from '../domain/time.ts'
import { DAY, HOUR } from '../domain/usage.ts'
import type { Statistics } from '../views/statistics.ts'
import { endingMatter, type Matter, mattersOf } from './attention.ts'
import { signHead } from './audit-chain.ts'

/** Of each kind, so many matters have a notice of their own. */
const MAX_MATTERS = 100

/** A matter is over once no node has seen it for this long: some come and go with each request. */
export const OVER_MS = 5 * MINUTE

/** How often a client must have been refused: anybody can send a wrong secret once. */
const MIN_REFUSALS = 3

/** Within an hour, this many notices are posted; the last one counts those that wait. */
const LIMIT = 20

const MAX_WAITING = 1000

/** For this long no other process posts a notice while one does, which may be killed. It is the first pause, and a tenth of the last. */
const LEASE_MS = 30_000

/** Answers about one notice; after others, such as for a URL that is no longer valid, all notices wait. */
const OF_ONE_NOTICE = /^4(?!01|03|04|10|29)/

/** What could not be posted for this long is given up. */
const GIVE_UP_MS = 7 * DAY

const KEEP_MS = 2 * DAY

/** Of a secret that ends there are notices so many days before. */
const STAGES = [1, 7, 14, 30]

const MAX_ENDING = 1000

/** A matter with what only a notice says. `fields`: more of its JSON. */
export interface NoticeMatter extends Matter {
  readonly stage?: string
  readonly fields?: object
}

/** Who posts notices, and where the links in them lead. */
export interface NoticeSource {
  readonly server: string
  readonly consoleUrl: string | undefined
  /** The newest audit event, if it is known. */
  readonly auditHead?: AuditHead | undefined
  /** Signs it. */
  readonly auditKey?: KeyObject | undefined
}

export function listEnding({ listEndingSecrets }: Pick<Store, 'listEndingSecrets'>, now: number) {
  return listEndingSecrets(now, now + 30 * DAY, MAX_ENDING)
}

/** What notices are about: what needs attention now, and the secrets that end within 30 days. */
export function noticeMatters(statistics: Statistics, ending: readonly EndingSecret[]): NoticeMatter[] {
  const isTold = ({ kind, tone, count = MIN_REFUSALS }: Matter) =>
    !/^(more )?secrets? ends?$/.test(kind) && (kind !== 'outage' || tone === 'bad') && count >= MIN_REFUSALS
  const matters = mattersOf(statistics, MAX_MATTERS).filter(isTold)
  return [...matters, ...ending.map((secret) => endingNotice(secret, statistics.at))]
}

function endingNotice(secret: EndingSecret, now: number): NoticeMatter {
  const { secretId: secret_id, lastUsedAt, developerEmail: developer_email } = secret
  const days = Math.ceil((secret.endsAt - now) / DAY)
  const ends_at = timestamp(secret.endsAt)
  const last_used_at = lastUsedAt && timestamp(lastUsedAt)
  const used = last_used_at ? `It was last used at ${last_used_at}.` : 'It has not been used.'
  const contact = developer_email ? ` The developer's address is ${developer_email}.` : ''
  return {
    ...endingMatter(secret),
    stage: String(STAGES.find((stage) => days <= stage) ?? STAGES.at(-1)),
    detail: `The ${secret.what} ${secret_id} ends in ${many(days, 'day')}, at ${ends_at}. ${used}${contact}`,
    fields: { secret_id, ends_at, last_used_at, developer_email },
  }
}

/**
 * How complete the matters are that are seen. `isWatching`: all are known for so long that those which are missing are over.
 * `isPartial`: except for clients that are refused, of which only those that were refused last are known.
 */
export interface Completeness {
  isWatching: boolean
  isPartial?: boolean | undefined
}

/** Which notices begin, repeat and end the matters that are seen now. */
export function planNotices(
  stored: readonly Notice[],
  matters: readonly NoticeMatter[],
  { now, isWatching, isPartial = false, ...source }: NoticeSource & Completeness & { now: number },
): NoticeChanges {
  // Times far ahead are from before the clock was set back, and as old; those of other nodes may be a little ahead.
  const ageOf = (time: number) => Math.abs(now - time)
  const newest = new Map(stored.map((notice) => [notice.matter, notice]))
  const save: Notice[] = []
  let id = stored.at(-1)?.id ?? 0
  const audit_head = source.auditHead && signHead(source.auditHead, now, source.auditKey)
  const add = (about: Omit<About, 'id'>, content: Content) =>
    save.push(noticeOf({ id: ++id, ...about }, { ...content, audit_head }, now))
  const seen = new Set(matters.map(({ key }) => key))
  for (const matter of matters) {
    const { key, stage = '' } = matter
    const about = { matter: key, priority: Number(matter.tone === 'bad'), stage }
    const last = newest.get(key)
    if (!last || last.event === 'ended') {
      add({ event: 'began', ...about }, beginOf(matter, source, timestamp(now)))
      // A larger stage is that of a node whose clock is behind, unless the last one is from before the clock was set back.
    } else if (
      Number(stage) < Number(last.stage) ||
      (stage !== last.stage && last.at > now + DAY) ||
      (stage === '' && last.dueAt === null && ageOf(last.at) >= DAY)
    ) {
      const since: string = JSON.parse(last.body).since
      add({ event: 'continues', ...about }, beginOf(matter, source, since, 'Still: '))
    } else if (ageOf(last.seenAt) >= MINUTE) save.push({ ...last, seenAt: now })
  }
  for (const { matter, event, stage, body, seenAt } of newest.values()) {
    // Who is still refused is refused within a day, and then among those that were refused last.
    const overAfter = isPartial && /^client /.test(matter) ? DAY : OVER_MS
    if (!isWatching || matter === '' || event === 'ended' || seen.has(matter) || ageOf(seenAt) < overAfter) continue
    add({ event: 'ended', matter, priority: 0, stage }, endOf(JSON.parse(body), now))
  }
  const isNeeded = (one: Notice) => one.event !== 'ended' && one.matter !== '' && newest.get(one.matter) === one
  const old = stored.filter((one) => one.dueAt === null && ageOf(one.at) > KEEP_MS && !isNeeded(one))
  return { save, remove: old.map((one) => one.id) }
}

type About = Pick<Notice, 'id' | 'event' | 'matter' | 'priority' | 'stage'>

function noticeOf(about: About, content: Content, now: number) {
  const body = JSON.stringify({ ...content, event: about.event, text: plain(content) })
  const fresh = { at: now, seenAt: now, dueAt: now, attempts: 0, problem: null, status: null, sentAt: null }
  return { ...about, messageId: `msg_${randomString(24)}`, body, ...fresh } satisfies Notice
}

/** Keeps in the store what was posted from memory or waits there, unless the store knows of it: so only one node tells the end. */
export function adoptNotices(stored: readonly Notice[], told: readonly Notice[]): NoticeChanges {
  const isOpen = new Map(stored.map(({ matter, event }) => [matter, event !== 'ended']))
  const id = (stored.at(-1)?.id ?? 0) + 1
  return { save: told.filter(({ matter }) => !isOpen.get(matter)).map((notice, at) => ({ ...notice, id: id + at })) }
}

/** The JSON of a notice, except for its event. */
type Content = { text: string; server: string; [field: string]: unknown }

/** `since`: if the matter itself does not say since when it is there. */
function beginOf(matter: NoticeMatter, { server, consoleUrl }: NoticeSource, since: string, before = ''): Content {
  const { kind, what, detail, remedy, subject, place, fields } = matter
  const link = consoleUrl && consoleUrl + place
  const name = kind.startsWith('more ') ? what.replace(/ more$/, ` ${kind}`) : what
  const title = subject && subject.kind !== 'server' ? `${name} (${subject.kind} ${subject.id})` : name
  const text = [`${before}${title}: ${detail}`, remedy, link].filter(Boolean).join(' ')
  const began = matter.since === undefined ? since : timestamp(matter.since)
  return { text, kind, subject, title, since: began, detail, remedy, link, server, ...fields }
}

function endOf(before: Content, now: number): Content {
  const hasEnded = Date.parse(String(before.ends_at)) <= now
  const text = `${hasEnded ? 'The secret has ended' : 'Over'}: ${before.title}, since ${before.since}.`
  return { ...before, text, remedy: undefined, ended_at: timestamp(now) }
}

/** A text in which chats find no mentions, and no links in their own form. Times get shorter. */
function plain({ text, server }: Content): string {
  const instead: Record<string, string> = { '<': '‹', '>': '›', '@': '＠' }
  const safe = text.replace(/[<>@]/g, (character) => instead[character] as string)
  return `token-server at ${server}: ${safe.replace(/\.\d{3}Z/g, 'Z')}`
}

/** The notice to post now, which the changes reserve for this process; undefined if there is none. */
export function claimNotice(stored: readonly Notice[], now: number, { server, consoleUrl }: NoticeSource) {
  // What is bad comes first, and then what is new.
  const byImportance = (one: Notice, other: Notice) => other.priority - one.priority || other.at - one.at
  const waiting = stored.filter(({ dueAt }) => dueAt !== null).sort(byImportance)
  // A time that is too far ahead is from before the clock was set back.
  const isDue = ({ dueAt }: Notice) => Number(dueAt) <= now || Number(dueAt) > now + DAY
  // Without an answer, an attempt is under way, or failed.
  const holdsAll = (one: Notice) => one.attempts > 0 && !isDue(one) && !OF_ONE_NOTICE.test(String(one.status))
  const posted = stored.filter(({ sentAt }) => sentAt !== null && sentAt > now - HOUR && sentAt <= now).length
  const due = waiting.slice(0, MAX_WAITING).filter(isDue)
  const mayPost = posted < LIMIT && !waiting.some(holdsAll)
  // What began is told before its end.
  const first = mayPost && stored.find((one) => one.matter === due[0]?.matter && due.includes(one))
  const isCounting = first && posted === LIMIT - 1 && waiting.length > 1 && first.event !== 'counted'
  const save = waiting.slice(isCounting ? 0 : MAX_WAITING).map((one): Notice => ({ ...one, dueAt: null }))
  if (!first) return { claimed: undefined, changes: { save } }
  const next = isCounting ? countOf(waiting, Number(stored.at(-1)?.id) + 1, now, { server, consoleUrl }) : first
  const claimed: Notice = { ...next, dueAt: now + LEASE_MS, attempts: next.attempts + 1, problem: null, status: null }
  return { claimed, changes: { save: [...save, claimed] } }
}

/** A notice that says how many wait, and what they are about. */
function countOf(waiting: readonly Notice[], id: number, now: number, { server, consoleUrl }: NoticeSource): Notice {
  const groups = Map.groupBy(waiting, ({ body }) => JSON.parse(body).kind)
  const kinds = [...groups].map(([kind, { length }]) => [kind, length])
  const link = consoleUrl && `${consoleUrl}/`
  const listed = kinds.map(([kind, count]) => `${kind} (${count})`).join(', ')
  const text = `${many(waiting.length, 'more notice')}: ${listed}. ${link ?? 'The console shows what needs attention.'}`
  const content = { text, kind: 'more notices', count: waiting.length, kinds: Object.fromEntries(kinds), link, server }
  return noticeOf({ id, event: 'counted', matter: '', priority: 2, stage: '' }, content, now)
}

/** What an attempt came to. `problem`: why it failed; `retryAfter`: the receiver asks to wait so long. */
export interface Delivery {
  readonly problem: string | undefined
  readonly status?: number | null | undefined
  readonly retryAfter?: number | undefined
}

/** The notice after an attempt. */
export function settledNotice(
  notice: Notice,
  { problem, status = null, retryAfter = 0 }: Delivery,
  now: number,
): Notice {
  if (problem === undefined) return { ...notice, dueAt: null, problem: null, sentAt: now }
  const pause = Math.min(LEASE_MS * 2 ** (notice.attempts - 1), 10 * LEASE_MS)
  const isLost = now - notice.at > GIVE_UP_MS
  return { ...notice, problem, status, dueAt: isLost ? null : now + Math.max(pause, Math.min(retryAfter, DAY)) }
}
