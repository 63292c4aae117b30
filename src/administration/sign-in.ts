import type { Author } from '../domain/audit-event.ts'
import { type Change, makeChange } from '../domain/change.ts'
import type { Identity } from '../domain/identity.ts'
import {
  type AdminKey,
  CLOCKS_APART,
  endOfLinkCode,
  isAdminKey,
  isFromProvider,
  isOver,
  type KeyReason,
  type LoginReason,
  type NewSession,
  type Operator,
  type Session,
  sessionEnd,
  USE_INTERVAL,
} from '../domain/operator.ts'
import { digestGenerated, secretState } from '../domain/secret.ts'
import { StoreUnavailable } from '../domain/store.ts'
import { randomString } from '../domain/text.ts'
import { PUBLIC_FIELDS } from '../views/registry.ts'
import type { AdministrationOptions } from './administration.ts'

/** 256 bits. */
const REFERENCE_LENGTH = 43

/** User-Agent headers are cut off after this many characters. */
const LONGEST_USER_AGENT = 200

export interface LoginOrigin {
  remoteAddress: string
  userAgent: string
  requestId: string
}

/** A session that has just begun. The browser keeps its `reference`. */
interface Login {
  reference: string
  operator: Operator
  session: Session
}

interface RefusedKey {
  reason: KeyReason
  /** Undefined if the key is unknown. */
  operator?: string
  keyId?: number
}

export type SignIn = ReturnType<typeof createSignIn>

type SignInOptions = Pick<AdministrationOptions, 'store' | 'now' | 'observe'> & {
  /** Whether people sign in with the identity provider only. */
  onlyProvider?: boolean
}

/** Authenticates operators by admin key, or by a session that was started with a login link or the identity provider. */
export function createSignIn(options: SignInOptions) {
  const { store, now } = options

  /** Resolves to the operator of an admin key, or to the reason why it is refused. Rejects with StoreUnavailable. */
  async function authenticate(adminKey: string): Promise<{ operator: Operator; key: AdminKey } | RefusedKey> {
    if (!isAdminKey(adminKey)) return { reason: 'malformed key' }
    const found = await store.findAdminKey(digestGenerated(adminKey))
    const key = found?.operator.keys.find(({ id }) => id === found.id)
    if (!found || !key) return { reason: 'unknown key' }
    const time = now()
    const state = secretState(key, time)
    if (state !== 'active') return { reason: `${state} key`, operator: found.operator.name, keyId: key.id }
    if (time >= (key.lastUsedAt ?? 0) + USE_INTERVAL) await ignoringUnavailable(store.recordAdminKeyUse(key.id, time))
    return { operator: found.operator, key }
  }

  const sessions = createSessions(options)
  const { findSession } = sessions
  return { authenticate, acceptsLinks: !options.onlyProvider, ...createLogins(options, sessions), findSession }
}

function createLogins(
  { store, now, onlyProvider = false }: SignInOptions,
  { startSession, change }: ReturnType<typeof createSessions>,
) {
  /** Checks a login code without using it up. Rejects with StoreUnavailable. */
  async function checkLoginCode(code: string): Promise<{ operator: string } | LoginReason> {
    if (onlyProvider) return 'login links not accepted'
    const endsAt = endOfLinkCode(code)
    if (endsAt === undefined) return 'unknown login link'
    const found = await store.findLoginCode(digestGenerated(code))
    const time = now()
    if (found ? found.endsAt <= time || found.createdAt > time + CLOCKS_APART : endsAt <= time)
      return 'expired login link'
    return found ?? 'used login link'
  }

  /** Uses up the code and starts a session: the browser keeps its `reference`. Rejects with StoreUnavailable. */
  async function logIn(code: string, from: LoginOrigin): Promise<Login | LoginReason> {
    const found = await checkLoginCode(code)
    if (typeof found === 'string') return found
    return (await startSession(found.operator, from, now(), digestGenerated(code))) ?? 'used login link'
  }

  /**
   * Starts a session for somebody whom the identity provider has authenticated. Creates or updates the operator with that role
   * and email. Undefined if the person has no role, or has just been removed. Rejects with StoreUnavailable.
   */
  async function logInAs(person: Identity, from: LoginOrigin): Promise<Login | undefined> {
    const { name: operator, role, email, authenticatedAt, whyNoRole = '' } = person
    const known = await store.findOperator(operator)
    if (role === undefined) {
      if (known) await change({ type: 'operator removed', operator }, operator, from)
      await ignoringUnavailable(store.recordRefusedSignIn(now(), whyNoRole))
      return undefined
    }
    const values = { operator, role, email: email ?? undefined }
    if (!known) await change({ type: 'operator added', ...values }, operator, from)
    else if (known.role !== role || known.email !== email) {
      await change({ type: 'operator updated', ...values }, operator, from)
    }
    return startSession(operator, from, authenticatedAt)
  }

  return { checkLoginCode, logIn, logInAs }
}

function createSessions({ store, now, observe, onlyProvider = false }: SignInOptions) {
  async function startSession(
    operator: string,
    from: LoginOrigin,
    authenticatedAt: number | null,
    codeDigest?: string,
  ) {
    const createdAt = now()
    const reference = randomString(REFERENCE_LENGTH)
    const session: NewSession = {
      digest: digestGenerated(reference),
      createdAt,
      endsAt: sessionEnd({ createdAt, seenAt: createdAt }),
      authenticatedAt,
      remoteAddress: from.remoteAddress,
      userAgent: from.userAgent.slice(0, LONGEST_USER_AGENT),
    }
    const { changed } = await change({ type: 'operator logged in', operator, codeDigest, session }, operator, from)
    const begun = changed ? await findSession(reference) : undefined
    return begun && { reference, ...begun }
  }

  function change(one: Change, actor: string, { remoteAddress, requestId }: LoginOrigin) {
    const author: Author = { actor, origin: 'console', remoteAddress, requestId }
    return makeChange({ store, observe }, one, { author, at: now(), publicFields: PUBLIC_FIELDS })
  }

  /**
   * Finds and extends a session; undefined if it is unknown or over. If `isLive`, the page asks on its own, which extends only a
   * viewer's session. Rejects with StoreUnavailable.
   */
  async function findSession(
    reference: string,
    { isLive = false } = {},
  ): Promise<{ operator: Operator; session: Session } | undefined> {
    const found = await store.findSession(digestGenerated(reference))
    const session = found?.operator.sessions.find(({ id }) => id === found.id)
    const time = now()
    if (!found || !session || isOver(session, time)) return undefined
    if (onlyProvider && !isFromProvider(found.operator)) return undefined
    const isUse = !isLive || found.operator.role === 'viewer'
    if (isUse && time >= session.lastSeenAt + USE_INTERVAL) {
      const endsAt = sessionEnd({ createdAt: session.createdAt, seenAt: time })
      await ignoringUnavailable(store.recordSessionUse({ id: session.id, lastSeenAt: time, endsAt }))
    }
    return { operator: found.operator, session }
  }

  return { startSession, change, findSession }
}

/** The time of use may be lost: a read-only store must not keep operators out. */
async function ignoringUnavailable(recording: Promise<void>): Promise<void> {
  await recording.catch((error) => {
    if (!(error instanceof StoreUnavailable)) throw error
  })
}
