import type { Notice, NoticeChanges } from '../domain/notice.ts'
import type { EndingSecret } from '../domain/statistics.ts'
import { many, randomString } from '../domain/text.ts'
import { MINUTE, timestamp } from '../domain/time.ts'
import { DAY, HOUR } from '../domain/usage.ts'
import type { Statistics } from '../views/statistics.ts'
import { endingMatter, type Matter, mattersOf } from './attention.ts'

/** Of each kind, so many matters have a notice of their own. */
const MAX_MATTERS = 100

/** A matter that lasts is repeated after this time. */
const REPEAT_MS = DAY

/** How often it is stored that a matter was seen. */
const SEEN_MS = MINUTE

/** A matter is over once no node has seen it for this long: some come and go with each request. */
export const OVER_MS = 5 * MINUTE

/** Within an hour, this many notices are posted; the last one counts those that wait. */
const LIMIT = 20

/** While a process posts a notice, no other one does. If the process is killed, another one posts it after this time. */
const LEASE_MS = 30_000

const FIRST_PAUSE_MS = 10_000
const LONGEST_PAUSE_MS = HOUR
const LONGEST_RETRY_AFTER_MS = DAY

/** What could not be posted for this long is given up. */
const GIVE_UP_MS = 7 * DAY

/** How long posted notices are kept. */
const KEEP_MS = 2 * DAY

/** Of a secret that ends there are notices so many days before. */
const STAGES = [1, 7, 14, 30]
export const FIRST_STAGE_MS = 30 * DAY

/** A matter with what only a notice says. */
interface NoticeMatter extends Matter {
  readonly stage?: string
  /** More fields of the JSON. */
  readonly fields?: object
}

/** Who posts notices, and where the links in them lead. */
export interface NoticeSource {
  readonly server: string
  readonly consoleUrl: string | undefined
}

/** What notices are about, most serious first: what needs attention now, and the secrets that end within 30 days. */
export function noticeMatters(statistics: Statistics, ending: readonly EndingSecret[]): NoticeMatter[] {
  const isPast = ({ kind, tone }: Matter) => kind === 'outage' && tone !== 'bad'
  const isOfSecret = ({ kind }: Matter) => kind === 'secret ends' || kind === 'more secrets end'
  const matters = mattersOf(statistics, MAX_MATTERS).filter((one) => !isPast(one) && !isOfSecret(one))
  const all = [...matters, ...ending.map((secret) => endingNotice(secret, statistics.at))]
  return all.sort((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'))
}

function endingNotice(secret: EndingSecret, now: number): NoticeMatter {
  const { secretId, endsAt, lastUsedAt, developerEmail } = secret
  const days = Math.ceil((endsAt - now) / DAY)
  const used = lastUsedAt === null ? 'It has not been used.' : `It was last used at ${timestamp(lastUsedAt)}.`
  const contact = developerEmail === null ? '' : ` The developer's address is ${developerEmail}.`
  return {
    ...endingMatter(secret),
    stage: String(STAGES.find((stage) => days <= stage)),
    detail: `The secret ${secretId} ends in ${many(days, 'day')}, at ${timestamp(endsAt)}. ${used}${contact}`,
    fields: {
      secret_id: secretId,
      ends_at: timestamp(endsAt),
      last_used_at: lastUsedAt === null ? null : timestamp(lastUsedAt),
      developer_email: developerEmail,
    },
  }
}

export function keyOf({ kind, id }: Matter): string {
  return `${kind} ${id}`.trim()
}

interface PlanOptions extends NoticeSource {
  now: number
  /** Whether all matters have been known for so long that those which are missing are over. */
  isWatching: boolean
}

/** Which notices begin, repeat and end the matters that are seen now. */
export function planNotices(
  stored: readonly Notice[],
  matters: readonly NoticeMatter[],
  { now, isWatching, ...source }: PlanOptions,
): NoticeChanges {
  const newest = new Map(stored.map((notice) => [notice.matter, notice]))
  newest.delete('')
  const open = new Map([...newest].filter(([, { event }]) => event !== 'ended'))
  const seen: Notice[] = []
  const added: Parameters<typeof noticeOf>[0][] = []
  for (const matter of matters) {
    const key = keyOf(matter)
    const last = open.get(key)
    open.delete(key)
    const stage = matter.stage ?? ''
    const event = !last ? 'began' : isRepeated(last, stage, now) ? 'continues' : undefined
    if (event) added.push({ matter: key, stage, event, body: bodyOf(matter, event, last, now, source) })
    else if (last && now - last.seenAt >= SEEN_MS) seen.push({ ...last, seenAt: now })
  }
  const over = [...open.values()].filter(({ seenAt }) => isWatching && now - seenAt >= OVER_MS)
  for (const { matter, stage, body } of over) {
    added.push({ matter, stage, event: 'ended', body: endOf(JSON.parse(body), now) })
  }
  const isOld = ({ at, dueAt, matter, event, id }: Notice) =>
    dueAt === null && at < now - KEEP_MS && (event === 'ended' || newest.get(matter)?.id !== id)
  return { save: [...seen, ...numbered(stored, added, now)], remove: stored.filter(isOld).map(({ id }) => id) }
}

function isRepeated({ at, dueAt, stage: before }: Notice, stage: string, now: number): boolean {
  if (stage !== before) return true
  return stage === '' && dueAt === null && now - at >= REPEAT_MS
}

function numbered(stored: readonly Notice[], added: Parameters<typeof noticeOf>[0][], now: number): Notice[] {
  const last = stored.at(-1)?.id ?? 0
  return added.map((one, index) => noticeOf(one, last + 1 + index, now))
}

function noticeOf(said: Pick<Notice, 'matter' | 'event' | 'stage' | 'body'>, id: number, now: number): Notice {
  const fresh = { at: now, seenAt: now, dueAt: now, attempts: 0, problem: null, sentAt: null }
  return { id, messageId: `msg_${randomString(24)}`, ...said, ...fresh }
}

function bodyOf(
  { kind, what, detail, remedy, subject, since, place, fields }: NoticeMatter,
  event: 'began' | 'continues',
  last: Notice | undefined,
  now: number,
  { server, consoleUrl }: NoticeSource,
): string {
  const before = last && (JSON.parse(last.body) as Body).since
  const link = consoleUrl && consoleUrl + place
  const isClient = subject && subject.kind !== 'server'
  const name = what.replace(/ more$/, ` ${kind}`)
  const title = isClient ? `${name} (${subject.kind} ${subject.id})` : name
  const text = [event === 'began' ? title : `Still: ${title}`, ': ', detail, remedy && ` ${remedy}`, link && ` ${link}`]
  return JSON.stringify({
    text: plain(`token-server at ${server}: ${text.filter(Boolean).join('')}`),
    ...{ event, kind, subject, title },
    since: since === undefined ? (before ?? timestamp(now)) : timestamp(since),
    ...{ detail, remedy, link, server, ...fields },
  })
}

type Body = { title: string; since: string; server: string; ends_at?: string } & Record<string, unknown>

/** The JSON of the end of a matter. */
function endOf({ text, event, ...before }: Body, now: number): string {
  const { title, server, ends_at, since } = before
  const hasEnded = ends_at !== undefined && Date.parse(ends_at) <= now
  const how = hasEnded ? 'The secret has ended' : 'Over'
  return JSON.stringify({
    text: plain(`token-server at ${server}: ${how}: ${title}, since ${since}.`),
    event: 'ended',
    ...before,
    ended_at: timestamp(now),
  })
}

/** Chats would take some of these characters for mentions, links or markup. Times get shorter. */
function plain(text: string): string {
  const instead: Record<string, string> = { '<': '‹', '>': '›', '@': '＠' }
  return text.replace(/[<>@]/g, (character) => instead[character] as string).replace(/\.\d{3}Z/g, 'Z')
}

/** The notice to post now, which the changes reserve for this process; undefined if there is none. */
export function claimNotice(stored: readonly Notice[], now: number, source: NoticeSource) {
  const waiting = stored.filter(({ dueAt }) => dueAt !== null)
  const [head] = waiting
  const posted = stored.filter(({ sentAt }) => sentAt !== null && sentAt > now - HOUR && sentAt <= now).length
  if (!head || posted >= LIMIT || !isDue(head, now)) return { claimed: undefined, changes: { save: [] } }
  const isCounting = posted === LIMIT - 1 && waiting.length > 1 && head.event !== 'counted'
  const [counting] = isCounting ? numbered(stored, [countingNotice(waiting, source)], now) : []
  const notice = counting ?? head
  const claimed = { ...notice, dueAt: now + LEASE_MS, attempts: notice.attempts + 1 }
  const counted = isCounting ? waiting.map((one) => ({ ...one, dueAt: null })) : []
  return { claimed, changes: { save: [...counted, claimed] } }
}

/** A time that is too far ahead is from before the clock was set back. */
function isDue({ dueAt }: Notice, now: number): boolean {
  return Number(dueAt) <= now || Number(dueAt) > now + LONGEST_RETRY_AFTER_MS
}

function countingNotice(waiting: readonly Notice[], { server, consoleUrl }: NoticeSource) {
  const [began, continues, ended] = (['began', 'continues', 'ended'] as const).map(
    (event) => waiting.filter((one) => one.event === event).length,
  )
  const link = consoleUrl && `${consoleUrl}/`
  const counts = `${many(waiting.length, 'more notice')}: ${began} began, ${continues} still last, ${ended} are over.`
  const text = plain(`token-server at ${server}: ${counts}${link ? ` ${link}` : ''}`)
  const body = JSON.stringify({ text, event: 'counted', began, continues, ended, link, server })
  return { matter: '', event: 'counted', stage: '', body } as const
}

/** What an attempt came to. */
export interface Delivery {
  /** Why it was not delivered; undefined if it was. */
  readonly problem: string | undefined
  /** The receiver asks to wait so many milliseconds. */
  readonly retryAfter?: number | undefined
}

/** The notice after an attempt. */
export function settledNotice(notice: Notice, { problem, retryAfter = 0 }: Delivery, now: number): Notice {
  if (problem === undefined) return { ...notice, dueAt: null, problem: null, sentAt: now }
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** (notice.attempts - 1), LONGEST_PAUSE_MS)
  const wait = Math.max(pause, Math.min(retryAfter, LONGEST_RETRY_AFTER_MS))
  return { ...notice, problem, dueAt: now - notice.at > GIVE_UP_MS ? null : now + wait }
}
