import type { output, ZodType } from 'zod'
import { type Application, generateClientId, type NewApplication } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import { AdministrationError } from '../domain/refusal.ts'
import { digestGenerated, digestImported, generateSecret } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import { type NewSuite, unknownSuite } from '../domain/suite.ts'
import { registrationSchema, suiteSchema } from './rules.ts'

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

/** How applications and suites come in. Every refusal is an AdministrationError and changes nothing. */
export function createRegistration({ store, now }: { store: Store; now: Clock }) {
  /** Registers one application. */
  async function register(registration: Registration): Promise<Registered> {
    const { newApplication, registered } = await prepare(registration, false)
    for (const suiteId of registration.suites ?? []) {
      if (!(await store.findSuite(suiteId))) throw unknownSuite(suiteId)
    }
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
    for (const { clientId } of [...existing, ...missing]) {
      if (clientId !== undefined && suiteIds.has(clientId)) throw taken(clientId)
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

  return { register, registerSuite, seed }
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

function taken(id: string): AdministrationError {
  return new AdministrationError(`The id ${id} is taken already.`)
}
