import type { Test } from 'tap'
import type { Application, ApplicationKey, NewApplication } from '../../../src/domain/application.ts'
import type { Store } from '../../../src/domain/store.ts'
import type { StoredToken } from '../../../src/domain/token.ts'
import { application, suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { START } from '../../support/world.ts'

type Switch = () => void | Promise<void>

/** What a store's own test gives the suite. Whatever is opened is closed with the test. */
export interface Harness {
  /** An empty store. */
  open: (t: Test) => Promise<Store>
  /** Two handles on the same, empty data, as two processes have them; left out where there can be one only. */
  openTwo?: (t: Test) => Promise<[Store, Store]>
  /** An empty store, with a switch for whether its database can be used; left out where that cannot be done. */
  openFragile?: (t: Test) => Promise<{ store: Store; breakDown: Switch; recover: Switch }>
  /** An empty store whose audit events can be made to fail; undefined if the store has no way to do that. */
  openWithoutAudit?: (t: Test) => Promise<{ store: Store; refuse: Switch; accept: Switch }>
}

export const IMPORTED = '$scrypt$ln=14,r=8,p=5$DIGESTAAAA$AAAA'
export const SECRET = { digest: '$sha256$DIGESTBBBB', createdAt: START + 1 }
export const PAGE = { limit: 1000 }

/** How a rule is tested on an empty store. */
export function onEmptyStore(t: Test, { open }: Harness) {
  return (rule: string, run: (t: Test, store: Store) => Promise<void>) =>
    t.test(rule, async (t) => run(t, await open(t)))
}

/** How a rule is tested on two handles of the same, empty data. */
export function onTwoHandles(t: Test, { openTwo }: Harness) {
  return (rule: string, run: (t: Test, one: Store, other: Store) => Promise<void>) =>
    t.test(rule, { skip: !openTwo && 'there can be one handle only' }, async (t) => {
      const [one, other] = await (openTwo as NonNullable<typeof openTwo>)(t)
      await run(t, one, other)
    })
}

/** Registers applications, each by its id or with more fields, and resolves to those that were added. */
export async function register(store: Store, ...newcomers: (string | NewApplication)[]): Promise<NewApplication[]> {
  const applications = newcomers.map((one) => (typeof one === 'string' ? application(one) : one))
  return [...(await store.register({ suites: [], applications }, AUDIT)).applications]
}

export async function registerSuites(store: Store, ...ids: string[]): Promise<void> {
  await store.register({ suites: ids.map(suite), applications: [] }, AUDIT)
}

/** Every change of the registry, of an application and a suite, in an order in which each changes something. */
export function changesOf(store: Store, { clientId = 'a', suiteId = 'store', secretId = 1 } = {}) {
  return {
    register: () => store.register({ suites: [suite('new')], applications: [application('newcomer')] }, AUDIT),
    updateApplication: () => on(store).updateApplication(clientId, { name: 'New' }),
    setStatus: () => on(store).setStatus(clientId, 'suspended'),
    approve: () => on(store).approve(clientId, suiteId),
    withdraw: () => on(store).withdraw(clientId, suiteId),
    revokeTokens: () => on(store).revokeTokens(clientId, START),
    addSecret: () => on(store).addSecret(clientId, SECRET),
    rotateSecret: () => on(store).rotateSecret(clientId, SECRET, START + 2, 0),
    revokeSecret: () => on(store).revokeSecret(clientId, secretId, START + 1),
    updateSuite: () => on(store).updateSuite(suiteId, { name: 'New' }),
    removeApplication: () => on(store).removeApplication(clientId),
    removeSuite: () => on(store).removeSuite(suiteId),
  }
}

/** The key of an application that is registered for it. */
export async function newKey(store: Store, clientId = 'owner'): Promise<ApplicationKey> {
  await register(store, clientId)
  return ((await store.findApplication(clientId)) as Application).key
}

/** The secrets of an application or a suite. */
export async function secretsOf(store: Store, id: string) {
  return ((await store.findApplication(id)) ?? (await store.findSuite(id)))?.secrets ?? []
}

/** The id of a secret, by its place. */
export async function secretIdOf(store: Store, owner: string, at = 0): Promise<number> {
  return (await secretsOf(store, owner))[at]?.id as number
}

export async function endsOf(store: Store, owner: string): Promise<(number | null)[]> {
  return (await secretsOf(store, owner)).map(({ endsAt }) => endsAt)
}

export async function findStored(store: Store, id: Buffer): Promise<StoredToken | undefined> {
  return (await store.findToken(id))?.stored
}

export const idsOf = (rows: { clientId: string }[]) => rows.map(({ clientId }) => clientId)

/** A session with a digest. */
export function session(digest: string, more: { createdAt?: number; endsAt?: number; authenticatedAt?: null } = {}) {
  const lasts = { createdAt: START + 1, endsAt: START + 50, authenticatedAt: START as number | null }
  return { digest, ...lasts, remoteAddress: '192.0.2.1', userAgent: 'Ünï "✓"', ...more }
}

/** An operator with a key, a login code and a session, whose digests are `key NAME`, `code NAME` and `session NAME`. */
export async function addOperator(store: Store, name: string): Promise<{ keyId: number; sessionId: number }> {
  const code = { createdAt: START, endsAt: START + 10 }
  await on(store).addOperator({ name, role: 'admin', createdAt: START })
  const key = { digest: `key ${name}`, createdAt: START, endsAt: START + 100 }
  const keyId = await on(store).addAdminKey(name, key)
  await on(store).addLoginCode(name, { digest: `old code ${name}`, ...code })
  const sessionId = await on(store).beginSession(name, `old code ${name}`, session(`session ${name}`))
  await on(store).addLoginCode(name, { digest: `code ${name}`, ...code })
  return { keyId: keyId as number, sessionId: sessionId as number }
}
