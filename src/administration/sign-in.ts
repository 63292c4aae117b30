import type { Author } from '../domain/audit-event.ts'
import { type Change, eventOf } from '../domain/change.ts'
import {
  type AdminKey,
  adminKeyState,
  CLOCKS_APART,
  endOfLinkCode,
  isAdminKey,
  isOver,
  type KeyReason,
  type LoginReason,
  type NewSession,
  type Operator,
  type Session,
  sessionEnd,
  USE_INTERVAL,
} from '../domain/operator.ts'
import { digestGenerated } from '../domain/secret.ts'
import { StoreUnavailable } from '../domain/store.ts'
import { randomString } from '../domain/text.ts'
import type { AdministrationOptions } from './administration.ts'

/** 256 bits. */
const REFERENCE_LENGTH = 43

/** Longer User-Agent headers are cut off. Characters. */
const LONGEST_USER_AGENT = 200

export interface LoginOrigin {
  remoteAddress: string
  userAgent: string
  requestId: string
}

interface RefusedKey {
  reason: KeyReason
  /** Undefined: the key is unknown. */
  operator?: string
  keyId?: number
}

export type SignIn = ReturnType<typeof createSignIn>

type SignInOptions = Pick<AdministrationOptions, 'store' | 'now' | 'observe'>

/** Authenticates operators: by admin key, or by a session that was started with a login link. */
export function createSignIn(options: SignInOptions) {
  const { store, now } = options

  /** Resolves to the operator of an admin key, or to the reason why it is refused. Rejects with StoreUnavailable. */
  async function authenticate(adminKey: string): Promise<{ operator: Operator; key: AdminKey } | RefusedKey> {
    if (!isAdminKey(adminKey)) return { reason: 'malformed key' }
    const found = await store.findAdminKey(digestGenerated(adminKey))
    const key = found?.operator.keys.find(({ id }) => id === found.id)
    if (!found || !key) return { reason: 'unknown key' }
    const time = now()
    const state = adminKeyState(key, time)
    if (state !== 'active') return { reason: `${state} key`, operator: found.operator.name, keyId: key.id }
    if (time >= (key.lastUsedAt ?? 0) + USE_INTERVAL) await ignoringUnavailable(store.recordAdminKeyUse(key.id, time))
    return { operator: found.operator, key }
  }

  return { authenticate, ...createLogins(options) }
}

/** Logins with a link, and the sessions that they start. */
function createLogins({ store, now, observe }: SignInOptions) {
  /** Checks a login code without using it up. Rejects with StoreUnavailable. */
  async function checkLoginCode(code: string): Promise<{ operator: string } | LoginReason> {
    const endsAt = endOfLinkCode(code)
    if (endsAt === undefined) return 'unknown login link'
    const found = await store.findLoginCode(digestGenerated(code))
    const time = now()
    if (found ? found.endsAt <= time || found.createdAt > time + CLOCKS_APART : endsAt <= time)
      return 'expired login link'
    return found ?? 'used login link'
  }

  /** Uses up the code and starts a session: the browser keeps its `reference`. Rejects with StoreUnavailable. */
  async function logIn(
    code: string,
    { remoteAddress, userAgent, requestId }: LoginOrigin,
  ): Promise<{ reference: string; operator: Operator; session: Session } | LoginReason> {
    const codeDigest = digestGenerated(code)
    const createdAt = now()
    const found = await checkLoginCode(code)
    if (typeof found === 'string') return found
    const reference = randomString(REFERENCE_LENGTH)
    const author: Author = { actor: found.operator, origin: 'console', remoteAddress, requestId }
    const newSession: NewSession = {
      digest: digestGenerated(reference),
      createdAt,
      endsAt: sessionEnd({ createdAt, seenAt: createdAt }),
      remoteAddress,
      userAgent: userAgent.slice(0, LONGEST_USER_AGENT),
    }
    const change: Change = { type: 'operator logged in', operator: found.operator, codeDigest, session: newSession }
    const result = await store.change(change, { author, at: createdAt })
    const begun = result.changed ? await findSession(reference) : undefined
    if (!begun) return 'used login link'
    observe({ ...eventOf(change, result), ...author })
    return { reference, ...begun }
  }

  /** Finds a session. Undefined: unknown or over. `touch`: whether this extends the session. Rejects with StoreUnavailable. */
  async function findSession(
    reference: string,
    { touch = true } = {},
  ): Promise<{ operator: Operator; session: Session } | undefined> {
    const found = await store.findSession(digestGenerated(reference))
    const session = found?.operator.sessions.find(({ id }) => id === found.id)
    const time = now()
    if (!found || !session || isOver(session, time)) return undefined
    if (touch && time >= session.lastSeenAt + USE_INTERVAL) {
      const endsAt = sessionEnd({ createdAt: session.createdAt, seenAt: time })
      await ignoringUnavailable(store.recordSessionUse({ id: session.id, lastSeenAt: time, endsAt }))
    }
    return { operator: found.operator, session }
  }

  return { checkLoginCode, logIn, findSession }
}

/** The time of use may be lost: a read-only store must not keep operators out. */
async function ignoringUnavailable(recording: Promise<void>): Promise<void> {
  await recording.catch((error) => {
    if (!(error instanceof StoreUnavailable)) throw error
  })
}
