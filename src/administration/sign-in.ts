import { isAdminKey } from '../domain/admin-key.ts'
import type { Author } from '../domain/audit-event.ts'
import type { Clock } from '../domain/clock.ts'
import type { Observer } from '../domain/events.ts'
import { endOfLoginCode } from '../domain/login-code.ts'
import {
  type AdminKey,
  adminKeyState,
  CLOCKS_APART,
  isOver,
  type KeyReason,
  type LoginReason,
  type NewSession,
  type Operator,
  type Session,
  sessionEnd,
  USE_INTERVAL,
} from '../domain/operator.ts'
import { randomString } from '../domain/random.ts'
import { digestGenerated } from '../domain/secret.ts'
import { type Store, StoreUnavailable } from '../domain/store.ts'

/** 256 bits. */
const REFERENCE_LENGTH = 43

/** So much of what a browser says of itself is kept. Characters. */
const LONGEST_USER_AGENT = 200

/** Where a login came from. */
export interface LoginOrigin {
  remoteAddress: string
  userAgent: string
  requestId: string
}

/** An admin key that is not accepted. */
interface RefusedKey {
  reason: KeyReason
  /** Whose key it is, and which one. Undefined: nobody's. */
  operator?: string
  keyId?: number
}

export type SignIn = ReturnType<typeof createSignIn>

interface SignInOptions {
  store: Store
  now: Clock
  observe: Observer
}

/** How operators prove who they are: by an admin key, or by a session that a login link began. */
export function createSignIn({ store, now, observe }: SignInOptions) {
  /** Whose key this is, or why it is refused. Rejects with StoreUnavailable. */
  async function authenticate(adminKey: string): Promise<{ operator: Operator; key: AdminKey } | RefusedKey> {
    if (!isAdminKey(adminKey)) return { reason: 'malformed key' }
    const proof = await store.findAdminKey(digestGenerated(adminKey))
    const key = proof?.operator.keys.find(({ id }) => id === proof.id)
    if (!proof || !key) return { reason: 'unknown key' }
    const time = now()
    const state = adminKeyState(key, time)
    if (state !== 'active') return { reason: `${state} key`, operator: proof.operator.name, keyId: key.id }
    if (time >= (key.lastUsedAt ?? 0) + USE_INTERVAL) await note(store.recordAdminKeyUse(key.id, time))
    return { operator: proof.operator, key }
  }

  /** Whom a login link lets in, or why nobody. Rejects with StoreUnavailable. */
  async function checkLoginCode(code: string): Promise<{ operator: string } | LoginReason> {
    const endsAt = endOfLoginCode(code)
    if (endsAt === undefined) return 'unknown login link'
    const found = await store.findLoginCode(digestGenerated(code))
    const time = now()
    if (found ? found.endsAt <= time || found.createdAt > time + CLOCKS_APART : endsAt <= time)
      return 'expired login link'
    return found ?? 'used login link'
  }

  /**
   * Begins a session with what a login link has, which is used up then. The reference is what a browser keeps; the store has
   * its digest. Rejects with StoreUnavailable.
   */
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
    const id = await store.beginSession(found.operator, codeDigest, newSession, { author, at: createdAt })
    const begun = id === undefined ? undefined : await findSession(reference)
    if (!begun) return 'used login link'
    observe({
      type: 'operator logged in',
      operator: found.operator,
      sessionId: begun.session.id,
      ...author,
    })
    return { reference, ...begun }
  }

  /**
   * Whose session this is; undefined: it is unknown, or over. `touch`: whether that keeps it alive, true by default. Rejects
   * with StoreUnavailable.
   */
  async function findSession(
    reference: string,
    { touch = true } = {},
  ): Promise<{ operator: Operator; session: Session } | undefined> {
    const proof = await store.findSession(digestGenerated(reference))
    const session = proof?.operator.sessions.find(({ id }) => id === proof.id)
    const time = now()
    if (!proof || !session || isOver(session, time)) return undefined
    if (touch && time >= session.lastSeenAt + USE_INTERVAL) {
      const endsAt = sessionEnd({ createdAt: session.createdAt, seenAt: time })
      await note(store.recordSessionUse({ id: session.id, lastSeenAt: time, endsAt }))
    }
    return { operator: proof.operator, session }
  }

  return { authenticate, checkLoginCode, logIn, findSession }
}

/** Waits for a note. Who asks is answered all the same where the store can be read only. */
async function note(recording: Promise<void>): Promise<void> {
  await recording.catch((error) => {
    if (!(error instanceof StoreUnavailable)) throw error
  })
}
