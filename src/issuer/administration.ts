import type { output, ZodType } from 'zod'
import { type Application, generateClientId, type NewApplication } from './application.ts'
import type { Clock } from './clock.ts'
import { AdministrationError } from './refusal.ts'
import { registrationSchema, suiteSchema } from './registration.ts'
import { digestGenerated, digestImported, generateSecret, type Secret } from './secret.ts'
import type { Store } from './store.ts'
import type { NewSuite, Suite } from './suite.ts'

/** What an operator says of an application to be registered. Whatever is left out is generated. */
export interface Registration {
  name: string
  developerEmail: string
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** The suites that its tokens shall be good at; none named: every one there is. */
  suites?: string[] | undefined
}

/** What an operator says of a suite to be registered. */
export interface SuiteRegistration {
  suiteId: string
  name: string
}

/** A registered suite. The only time that its secret is seen. */
export interface RegisteredSuite extends SuiteRegistration {
  clientSecret: string
}

/** A registered application. The only time that a generated secret is seen; undefined where it was brought along. */
export interface Registered {
  clientId: string
  clientSecret: string | undefined
  name: string
  developerEmail: string
}

/** An ended secret is kept this long, so that the log can tell an expired one from a wrong one. 30 days. */
const REMEMBER_ENDED = 30 * 24 * 60 * 60 * 1000

export type Administration = ReturnType<typeof createAdministration>

/** What an operator can do to applications, secrets and tokens. Every refusal is an AdministrationError. */
export function createAdministration({ store, now }: { store: Store; now: Clock }) {
  /** Registers one application. */
  async function register(registration: Registration): Promise<Registered> {
    const { newApplication, registered } = await prepare(registration, false)
    for (const suiteId of registration.suites ?? []) await showSuite(suiteId)
    const added = await store.register({ suites: [], applications: [newApplication] })
    if (added.applications.length === 0) throw taken(registered.clientId)
    return registered
  }

  /** Registers one suite. */
  async function registerSuite(registration: SuiteRegistration): Promise<RegisteredSuite> {
    const { newSuite, registered } = prepareSuite(registration)
    const added = await store.register({ suites: [newSuite], applications: [] })
    if (added.suites.length === 0) throw taken(registered.suiteId)
    return registered
  }

  /**
   * Registers those suites and applications that are missing and leaves those that exist: the ones with the same id
   * or, for an application without one, the same name and developer. All in one transaction.
   */
  async function seed(seeds: { suites: SuiteRegistration[]; applications: Registration[] }) {
    const existingSuites = await store.listSuites()
    const suites = seeds.suites
      .filter(({ suiteId }) => !existingSuites.some((one) => one.suiteId === suiteId))
      .map(prepareSuite)
    const existing = await store.listApplications()
    const missing = seeds.applications.filter((registration) => !existing.some((one) => isSame(registration, one)))
    const suiteIds = new Set([...existingSuites, ...seeds.suites].map(({ suiteId }) => suiteId))
    for (const suiteId of missing.flatMap(({ suites = [] }) => suites)) {
      if (!suiteIds.has(suiteId)) throw unknownSuite(suiteId)
    }
    const applications = []
    for (const one of missing) applications.push(await prepare(one, one.clientId === undefined))

    const added = await store.register({
      suites: suites.map(({ newSuite }) => newSuite),
      applications: applications.map(({ newApplication }) => newApplication),
    })
    return {
      suites: suites.filter(({ newSuite }) => added.suites.includes(newSuite)).map(({ registered }) => registered),
      applications: applications
        .filter(({ newApplication }) => added.applications.includes(newApplication))
        .map(({ registered }) => registered),
    }
  }

  function prepareSuite(registration: SuiteRegistration) {
    const { suiteId, name } = valid(suiteSchema, registration)
    const clientSecret = generateSecret()
    const createdAt = now()
    const secret = { digest: digestGenerated(clientSecret), createdAt }
    const newSuite: NewSuite = { suiteId, name, createdAt, secret }
    const registered: RegisteredSuite = { suiteId, name, clientSecret }
    return { newSuite, registered }
  }

  async function prepare(registration: Registration, uniqueName: boolean) {
    const {
      name,
      developerEmail,
      clientId = generateClientId(),
      clientSecret,
    } = valid(registrationSchema, registration)
    const generated = generateSecret()
    const digest = clientSecret === undefined ? digestGenerated(generated) : await digestImported(clientSecret)
    const createdAt = now()
    const newApplication: NewApplication = {
      clientId,
      name,
      developerEmail,
      createdAt,
      secret: { digest, createdAt },
      suites: registration.suites ?? 'all',
      uniqueName,
    }
    const registered: Registered = {
      clientId,
      clientSecret: clientSecret === undefined ? generated : undefined,
      name,
      developerEmail,
    }
    return { newApplication, registered }
  }

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
    register,
    registerSuite,
    seed,
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

function valid<Schema extends ZodType>(schema: Schema, registration: unknown): output<Schema> {
  const result = schema.safeParse(registration)
  if (result.success) return result.data
  throw new AdministrationError(`${result.error.issues.map(({ message }) => message).join('; ')}.`)
}

function isSame(registration: Registration, application: Application): boolean {
  return registration.clientId === undefined
    ? registration.name === application.name && registration.developerEmail === application.developerEmail
    : registration.clientId === application.clientId
}

function unknown(clientId: string): AdministrationError {
  return new AdministrationError(`There is no application with the client id ${clientId}.`)
}

function unknownSuite(suiteId: string): AdministrationError {
  return new AdministrationError(`There is no suite with the id ${suiteId}.`)
}

function unknownOwner(id: string): AdministrationError {
  return new AdministrationError(`There is no application and no suite with the id ${id}.`)
}

function taken(id: string): AdministrationError {
  return new AdministrationError(`The id ${id} is taken already.`)
}
