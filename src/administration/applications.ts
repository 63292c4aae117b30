import { type Application, type ApplicationKey, generateClientId, type NewApplication } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Change } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, digestImported, generateSecret } from '../domain/secret.ts'
import { unknownSuite } from '../domain/suite.ts'
import { hourOf } from '../domain/usage.ts'
import type { Context } from './administration.ts'
import { allPages } from './pages.ts'
import { registrationSchema, takenId, valid } from './rules.ts'
import { type ListedSecret, listSecrets } from './secrets.ts'

/** What an operator says of an application to be registered. Ids and secrets that are left out are generated. */
export interface Registration {
  name: string
  developerEmail: string
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** The suites to approve it for; left out: every suite there is. */
  suites?: string[] | undefined
}

/** A registered application. A generated secret is shown this once; undefined where it was imported. */
export interface RegisteredApplication {
  clientId: string
  clientSecret: string | undefined
  name: string
  developerEmail: string
}

/** An application with all that operators see of it. */
export interface ShownApplication extends Application {
  secrets: ListedSecret[]
  /** When it last got a token, as far as is known. Milliseconds since the epoch; undefined: never yet. */
  lastTokenAt: number | undefined
}

/** An application in a list, with how many tokens it got. */
export interface ListedApplication extends Application {
  /** In this hour of the clock so far, and in the one before it. */
  tokensThisHour: number
  tokensLastHour: number
}

/** An application on its way into the store, and what its operator is told. */
export interface PreparedApplication {
  newApplication: NewApplication
  registered: RegisteredApplication
}

/** Who may ask for tokens. */
export function createApplications({ store, now, report }: Context) {
  /** Registers one application. */
  async function register(registration: Registration): Promise<RegisteredApplication> {
    const prepared = await prepareApplication(registration, { now, skipNamesake: false })
    for (const suiteId of registration.suites ?? []) {
      if (!(await store.findSuite(suiteId))) throw unknownSuite(suiteId)
    }
    const added = await store.register({ suites: [], applications: [prepared.newApplication] })
    if (added.applications.length === 0) throw takenId(prepared.newApplication.clientId)
    report(applicationRegistered(prepared.newApplication))
    return prepared.registered
  }

  /** Every application, oldest first. */
  async function list(): Promise<ListedApplication[]> {
    const hour = hourOf(now())
    const [last, current] = [new Map<ApplicationKey, number>(), new Map<ApplicationKey, number>()]
    for (const count of await store.listTokenCounts(hour - 1)) {
      const issued = count.hour === hour ? current : last
      if (count.hour <= hour) issued.set(count.applicationKey, count.issued)
    }
    const all = await allPages<Application>((page) => store.listApplications(page))
    return all.map((application) => ({
      ...application,
      tokensThisHour: current.get(application.key) ?? 0,
      tokensLastHour: last.get(application.key) ?? 0,
    }))
  }

  /** The application of this client id. */
  async function show(clientId: string): Promise<ShownApplication> {
    const application = await store.findApplication(clientId)
    if (!application) throw unknownApplication(clientId)
    return {
      ...application,
      secrets: await listSecrets({ store, now }, application.secrets),
      lastTokenAt: await store.lastTokenAt(application.key),
    }
  }

  /** From the next request on the application gets no token, and its tokens are inactive. */
  async function suspend(clientId: string): Promise<void> {
    if (!(await store.setStatus(clientId, 'suspended'))) throw unknownApplication(clientId)
    report({ type: 'application suspended', clientId })
  }

  async function resume(clientId: string): Promise<void> {
    if (!(await store.setStatus(clientId, 'active'))) throw unknownApplication(clientId)
    report({ type: 'application resumed', clientId })
  }

  async function remove(clientId: string): Promise<void> {
    if (!(await store.removeApplication(clientId))) throw unknownApplication(clientId)
    report({ type: 'application removed', clientId })
  }

  /** From the next check on the application's tokens are valid at the suite. */
  async function approve(clientId: string, suiteId: string): Promise<void> {
    await assertBoth(clientId, suiteId)
    await store.approve(clientId, suiteId)
    report({ type: 'application approved', clientId, suite: suiteId })
  }

  /** From the next check on they are not. */
  async function withdraw(clientId: string, suiteId: string): Promise<void> {
    await assertBoth(clientId, suiteId)
    await store.withdraw(clientId, suiteId)
    report({ type: 'approval withdrawn', clientId, suite: suiteId })
  }

  /** Revokes every token that the application was issued until now. */
  async function revokeAllTokens(clientId: string): Promise<void> {
    if (!(await store.revokeTokens(clientId, now()))) throw unknownApplication(clientId)
    report({ type: 'all tokens revoked', clientId })
  }

  async function assertBoth(clientId: string, suiteId: string): Promise<void> {
    await show(clientId)
    if (!(await store.findSuite(suiteId))) throw unknownSuite(suiteId)
  }

  return { register, list, show, suspend, resume, remove, approve, withdraw, revokeAllTokens }
}

/** Checks a registration and generates what it leaves out. Throws OperatorError with all that is wrong. */
export async function prepareApplication(
  registration: Registration,
  { now, skipNamesake }: { now: Clock; skipNamesake: boolean },
): Promise<PreparedApplication> {
  const { name, developerEmail, clientId = generateClientId(), clientSecret } = valid(registrationSchema, registration)
  const generated = clientSecret === undefined ? generateSecret() : undefined
  const digest = clientSecret === undefined ? digestGenerated(generated as string) : await digestImported(clientSecret)
  const createdAt = now()
  return {
    newApplication: {
      clientId,
      name,
      developerEmail,
      createdAt,
      secret: { digest, createdAt },
      suites: registration.suites ?? 'all',
      skipNamesake,
    },
    registered: { clientId, clientSecret: generated, name, developerEmail },
  }
}

export function applicationRegistered({ clientId, name, suites }: NewApplication): Change {
  return { type: 'application registered', clientId, name, suites }
}

function unknownApplication(clientId: string): OperatorError {
  return new OperatorError(`There is no application with the client id ${clientId}.`)
}
