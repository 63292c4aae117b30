import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { AuditHead, AuditLink } from '../domain/audit-chain.ts'
import { AUDIT_LIFETIME } from '../domain/audit-event.ts'
import { CLOCKS_APART } from '../domain/operator.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { AuditTrail } from '../domain/store.ts'
import { timestamp } from '../domain/time.ts'
import { DAY } from '../domain/usage.ts'
import { stepsOf } from './pages.ts'

const STEP = 1000

/** The first event that is not as it was written, and what is wrong, in a sentence. */
interface Problem {
  event: number
  text: string
}

/** The events that are as they were written, from the oldest one up to the first one that is not. */
export interface AuditVerdict {
  events: number
  first: AuditLink | undefined
  last: AuditLink | undefined
  /** How many of them were chained later than they were written, and the last of these. */
  late: number
  lastLate: AuditLink | undefined
  problem: Problem | undefined
}

type Trail = Pick<AuditTrail, 'listAuditLinks' | 'findAuditHead' | 'chainAuditEvents'>

/** The newest event, after those that older programs have written were chained; undefined if there is none. */
export async function findHead(
  { chainAuditEvents, findAuditHead }: Trail,
  now: number,
): Promise<AuditHead | undefined> {
  while (await chainAuditEvents(STEP, now));
  return findAuditHead()
}

/**
 * Compares each event with its hash and with the one before it, and all of them with a head that was kept elsewhere. Keeps one step of
 * events in memory. Meanwhile, events may be added and purged. Rejects with OperatorError if the event of the head was purged.
 */
export async function verifyAudit(trail: Trail, now: number, known?: AuditHead): Promise<AuditVerdict> {
  const end = Number((await findHead(trail, now))?.id)
  const found: AuditVerdict = {
    ...{ events: 0, first: undefined, last: undefined },
    ...{ late: 0, lastLate: undefined, problem: undefined },
  }
  let latestAt = 0
  let isKnown = false
  /** The first of the events that were chained later, up to the current one. */
  let firstLate: AuditLink | undefined
  const list = (after: number | undefined, limit = STEP) => trail.listAuditLinks({ after, limit })
  for await (const links of stepsOf<AuditLink>((last) => list(last?.id), STEP)) {
    for (const link of links.filter(({ id }) => id <= end)) {
      const { last } = found
      const isPurged = last && link.previousHash !== last.hash && (await list(last.id - 1, 1))[0]?.id !== last.id
      if (isPurged) found.first = undefined
      found.problem = problemOf(link, isPurged ? undefined : last, firstLate) ?? conflictOf(link, known)
      if (found.problem) return found
      found.first ??= link
      found.last = link
      found.events++
      latestAt = Math.max(latestAt, link.at)
      isKnown ||= link.id === known?.id
      firstLate = link.chainedAt === link.at ? undefined : (firstLate ?? link)
      if (firstLate) [found.late, found.lastLate] = [found.late + 1, link]
    }
  }
  const { first } = found
  // As the purge: an event of the future, which may be forged, makes no others old. Clocks of nodes differ a little.
  const isTooOld = (at: number) => at < Math.min(latestAt, now + CLOCKS_APART) - AUDIT_LIFETIME
  if (first && first.previousAt !== null && !isTooOld(first.previousAt)) {
    const why = `because the server deletes only those that are older than ${AUDIT_LIFETIME / DAY} days`
    found.problem = wrong(first, `is not the first one: those before it were removed by hand, ${why}`)
  } else if (known && !isKnown) {
    if (first && known.id < first.id && isTooOld(known.at))
      throw new OperatorError(
        `Event ${known.id} of the head was so old that the server has deleted it: use a newer head.`,
      )
    const text = `Event ${known.id} of the head is not there: it was removed by hand, ${OR_RESTORED}.`
    found.problem = { event: known.id, text }
  }
  return found
}

const OR_RESTORED = 'or the database was replaced by an older backup ("audit list" then has "database restored")'

function wrong({ id, action, subject }: AuditLink, what: string): Problem {
  return { event: id, text: `Event ${id} (${action} ${subject}) ${what}.` }
}

/** What is wrong with an event or, if it does not follow the last one, with those before it. */
function problemOf(
  link: AuditLink,
  last: AuditLink | undefined,
  firstLate: AuditLink | undefined,
): Problem | undefined {
  if (link.hash !== link.actualHash)
    return wrong(link, 'is not as it was written: it was changed, moved or added by hand')
  if (!last || link.previousHash === last.hash) return undefined
  // The server has chained what somebody has added without a hash.
  if (link.previousHash === firstLate?.previousHash) return wrong(firstLate, 'was added by hand')
  return wrong(link, `does not follow event ${last.id}: that was changed, or events between them were removed by hand`)
}

function conflictOf(link: AuditLink, known: AuditHead | undefined): Problem | undefined {
  if (known?.id !== link.id || known.hash === link.hash) return undefined
  return wrong(
    link,
    `is not that of the head: it or one before it, and all hashes since, were changed by hand, ${OR_RESTORED}`,
  )
}

/** A head to keep elsewhere. Times are RFC 3339. */
interface KeptHead extends Pick<AuditHead, 'id' | 'hash'> {
  at: string
  made_at: string
  /** Of the JSON of the other fields, in their order, in base64. */
  signature?: string
}

/** Signs a head, if there is a key. */
export function signHead({ id, at, hash }: AuditHead, now: number, key?: KeyObject): KeptHead {
  const head = { id, at: timestamp(at), hash, made_at: timestamp(now) }
  return key ? { ...head, signature: sign(null, textOf(head), key).toString('base64') } : head
}

function textOf({ id, at, hash, made_at }: KeptHead): Buffer {
  return Buffer.from(JSON.stringify({ id, at, hash, made_at }))
}

/** Reads a head that `signHead` made. With a key, it must be signed. Throws OperatorError. */
export function parseHead(json: string, publicKey?: KeyObject): AuditHead {
  let head: Partial<KeptHead> | null = null
  try {
    head = JSON.parse(json)
  } catch {}
  const at = Date.parse(String(head?.at))
  if (!Number.isSafeInteger(head?.id) || typeof head?.hash !== 'string' || Number.isNaN(at)) {
    throw new OperatorError(
      'This is not the JSON of a head: "audit head --json" prints it, and a line of the log has it.',
    )
  }
  const shown = head as KeptHead
  if (publicKey && !verify(null, textOf(shown), publicKey, Buffer.from(String(shown.signature), 'base64'))) {
    throw new OperatorError('The head is not signed with the key that belongs to the public key.')
  }
  return { id: shown.id, at, hash: shown.hash }
}

/** The key that signs heads; undefined without a file. Rejects with OperatorError. */
export async function readAuditKey(file: string | undefined): Promise<KeyObject | undefined> {
  return file === undefined ? undefined : readKey(`AUDIT_KEY_FILE, ${file},`, file, createPrivateKey)
}

/** Rejects with OperatorError. */
export function readPublicKey(file: string): Promise<KeyObject> {
  return readKey(file, file, createPublicKey)
}

async function readKey(name: string, file: string, create: (pem: Buffer) => KeyObject): Promise<KeyObject> {
  const pem = await readFile(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw new OperatorError(`${name} cannot be read: ${code}.`)
  })
  try {
    const key = create(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {}
  throw new OperatorError(`${name} must have an Ed25519 key in PEM, without a passphrase.`)
}
