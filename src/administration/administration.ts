import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import { AdministrationError } from '../domain/refusal.ts'
import { digestGenerated, generateSecret, type Secret } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import { type Suite, unknownSuite } from '../domain/suite.ts'
import { createRegistration } from './registration.ts'

/** An ended secret is kept this long, so that the log can tell an expired one from a wrong one. 30 days. */
const REMEMBER_ENDED = 30 * 24 * 60 * 60 * 1000

export type Administration = ReturnType<typeof createAdministration>

/** What an operator can do to applications, secrets and tokens. Every refusal is an AdministrationError. */
export function createAdministration({ store, now }: { store: Store; now: Clock }) {
  /** The application of this client id. */
  async function show(clientId: string): Promise<Application> {
    const application = await store.findApplication(clientId)
    if (!application) throw unknown(clientId)
    return application
  }

  /** From the next request on, the application gets no token. */
  async function suspend(clientId: string): Promise<void> {
    if (!(await store.setStatus(clientId, 'suspended'))) throw unknown(clientId)
  }

  async function resume(clientId: string): Promise<void> {
    if (!(await store.setStatus(clientId, 'active'))) throw unknown(clientId)
  }

  async function remove(clientId: string): Promise<void> {
    if (!(await store.removeApplication(clientId))) throw unknown(clientId)
  }

  /** The suite of this id. */
  async function showSuite(suiteId: string): Promise<Suite> {
    const suite = await store.findSuite(suiteId)
    if (!suite) throw unknownSuite(suiteId)
    return suite
  }

  /** From the next check on, nobody can ask in its name, and no application is approved for it. */
  async function removeSuite(suiteId: string): Promise<void> {
    if (!(await store.removeSuite(suiteId))) throw unknownSuite(suiteId)
  }

  /** From the next check on, the application's tokens are good at the suite. */
  async function approve(clientId: string, suiteId: string): Promise<void> {
    await show(clientId)
    await showSuite(suiteId)
    await store.approve(clientId, suiteId)
  }

  /** From the next check on, they are not. */
  async function withdraw(clientId: string, suiteId: string): Promise<void> {
    await show(clientId)
    await showSuite(suiteId)
    await store.withdraw(clientId, suiteId)
  }

  /** The secrets of an application or a suite. */
  async function listSecrets(owner: string): Promise<Secret[]> {
    const found = (await store.findApplication(owner)) ?? (await store.findSuite(owner))
    if (!found) throw unknownOwner(owner)
    return found.secrets
  }

  /** Gives an application or a suite a new secret now and ends its others after `overlap` milliseconds at the latest. */
  async function rotateSecret(owner: string, overlap: number) {
    const clientSecret = generateSecret()
    const time = now()
    const secret = { digest: digestGenerated(clientSecret), createdAt: time }
    const othersEndAt = time + overlap
    if (!(await store.rotateSecret(owner, secret, othersEndAt, time - REMEMBER_ENDED))) throw unknownOwner(owner)
    return { clientSecret, othersEndAt }
  }

  /** Ends one secret now. */
  async function revokeSecret(owner: string, secretId: number): Promise<void> {
    await listSecrets(owner)
    if (!(await store.endSecret(owner, secretId, now()))) {
      throw new AdministrationError(`${owner} has no secret ${secretId}.`)
    }
  }

  /** Revokes every token that the application was issued until now. */
  async function revokeAllTokens(clientId: string): Promise<void> {
    // One millisecond on, so that a token of this very millisecond is revoked too.
    if (!(await store.revokeTokens(clientId, now() + 1))) throw unknown(clientId)
  }

  return {
    ...createRegistration({ store, now }),
    list: () => store.listApplications(),
    show,
    suspend,
    resume,
    remove,
    listSuites: () => store.listSuites(),
    showSuite,
    removeSuite,
    approve,
    withdraw,
    listSecrets,
    rotateSecret,
    revokeSecret,
    revokeAllTokens,
  }
}

function unknown(clientId: string): AdministrationError {
  return new AdministrationError(`There is no application with the client id ${clientId}.`)
}

function unknownOwner(id: string): AdministrationError {
  return new AdministrationError(`There is no application and no suite with the id ${id}.`)
}
