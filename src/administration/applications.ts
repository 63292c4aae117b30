import {
  type Application,
  type ApplicationChanges,
  generateClientId,
  type NewApplication,
} from '../domain/application.ts'
import type { Change } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import {
  digestGenerated,
  digestImported,
  findGenerated,
  generateSecret,
  isImported,
  MAX_IMPORTED,
  matchesImported,
  type Secret,
  secretState,
} from '../domain/secret.ts'
import { unknownSuite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'
import { importedSecretSchema, registrationSchema, takenId, updateSchema, valid } from './rules.ts'
import { createSearch } from './search.ts'
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

/** An application on its way into the store, and what its operator is told. */
export interface PreparedApplication {
  newApplication: NewApplication
  registered: RegisteredApplication
}

/** Who may ask for tokens. */
export function createApplications(context: Context) {
  const { store, now, audit, report } = context

  /** Registers one application. Resolves with the suites it is approved for now. */
  async function register(
    registration: Registration,
    repeatable: Repeatable = {},
  ): Promise<RegisteredApplication & Pick<Application, 'suites'>> {
    const registered = await once<RegisteredApplication>(context, repeatable, async (auditOf) => {
      const { newApplication, registered } = await prepareApplication(registration, { now })
      await assertSuites(registration.suites ?? [], unknownSuiteField)
      const added = await store.register({ suites: [], applications: [newApplication] }, auditOf(registered))
      if (added.applications.length === 0) throw takenId(newApplication.clientId)
      report(applicationRegistered(newApplication))
      return registered
    })
    // Undefined if the application was removed in the meantime, for example before this call was repeated.
    const { suites } = (await store.findApplication(registered.clientId)) ?? { suites: [] }
    return { ...registered, suites }
  }

  /** The application of this client id, with all that operators see of it. */
  async function show(clientId: string): Promise<ShownApplication> {
    const application = await find(clientId)
    return {
      ...application,
      secrets: await listSecrets({ store, now }, application.secrets),
      lastTokenAt: await store.lastTokenAt(application.key),
    }
  }

  /** Changes what is given. Resolves to whether any value was another one. Throws OperatorError with all that is wrong. */
  async function update(clientId: string, changes: ApplicationChanges): Promise<boolean> {
    const { name, developerEmail } = valid(updateSchema, changes)
    const before = await find(clientId)
    await store.updateApplication(clientId, { name, developerEmail }, audit())
    const changed = [
      ...(name !== undefined && name !== before.name ? ['name'] : []),
      ...(developerEmail !== undefined && developerEmail !== before.developerEmail ? ['developer_email'] : []),
    ]
    if (changed.length > 0) report({ type: 'application updated', clientId, changed })
    return changed.length > 0
  }

  /**
   * Adds a secret that the application has elsewhere; its other secrets stay as they are. Throws OperatorError where an active
   * one is the same.
   */
  async function addSecret(clientId: string, clientSecret: string): Promise<void> {
    valid(importedSecretSchema, { clientSecret })
    const { secrets } = await find(clientId)
    const active = secrets.filter((secret) => secretState(secret, now()) === 'active')
    const same = await findSame(active, clientSecret)
    if (same) throw conflict(`${clientId} has this secret already: it is its secret ${same.id}.`)
    const imported = secrets.filter((secret) => isImported(secret) && secret.revokedAt === null)
    if (imported.length >= MAX_IMPORTED) {
      const ids = imported.map(({ id }) => id).join(' and ')
      throw conflict(`${clientId} has ${MAX_IMPORTED} imported secrets already (${ids}): revoke one first.`)
    }
    const secret = { digest: await digestImported(clientSecret), createdAt: now() }
    if (await store.addSecret(clientId, secret, audit())) report({ type: 'secret added', clientId })
  }

  /** From the next request on the application gets no token, and its tokens are inactive. */
  async function suspend(clientId: string): Promise<void> {
    if (await setStatus(clientId, 'suspended')) report({ type: 'application suspended', clientId })
  }

  async function resume(clientId: string): Promise<void> {
    if (await setStatus(clientId, 'active')) report({ type: 'application resumed', clientId })
  }

  /**
   * Resolves to whether that changes anything. The store is asked in any case: what another process did a moment ago may not
   * be on disk yet.
   */
  async function setStatus(clientId: string, status: Application['status']): Promise<boolean> {
    const before = await find(clientId)
    await store.setStatus(clientId, status, audit())
    return before.status !== status
  }

  async function remove(clientId: string): Promise<void> {
    if (!(await store.removeApplication(clientId, audit()))) throw unknownApplication(clientId)
    report({ type: 'application removed', clientId })
  }

  /** From the next check on the application's tokens are valid at the suites. */
  async function approve(clientId: string, ...suiteIds: string[]): Promise<void> {
    const each = new Set(suiteIds)
    const before = await approvals(clientId, each)
    for (const suite of each) {
      await store.approve(clientId, suite, audit())
      if (!before.includes(suite)) report({ type: 'application approved', clientId, suite })
    }
  }

  /** From the next check on they are not. Resolves to the suites that it was approved for. */
  async function withdraw(clientId: string, ...suiteIds: string[]): Promise<string[]> {
    const each = new Set(suiteIds)
    const before = await approvals(clientId, each)
    for (const suite of each) {
      await store.withdraw(clientId, suite, audit())
      if (before.includes(suite)) report({ type: 'approval withdrawn', clientId, suite })
    }
    return [...each].filter((suite) => before.includes(suite))
  }

  /** Revokes every token that the application was issued until now. */
  async function revokeAllTokens(clientId: string): Promise<void> {
    if (!(await store.revokeTokens(clientId, now(), audit()))) throw unknownApplication(clientId)
    report({ type: 'all tokens revoked', clientId })
  }

  /** The suites that the application is approved for. Throws OperatorError where it or one of these suites is unknown. */
  async function approvals(clientId: string, suiteIds: Iterable<string>): Promise<readonly string[]> {
    const { suites } = await find(clientId)
    await assertSuites(suiteIds)
    return suites
  }

  async function find(clientId: string): Promise<Application> {
    const application = await store.findApplication(clientId)
    if (!application) throw unknownApplication(clientId)
    return application
  }

  async function assertSuites(suiteIds: Iterable<string>, unknown = unknownSuite): Promise<void> {
    for (const suiteId of suiteIds) if (!(await store.findSuite(suiteId))) throw unknown(suiteId)
  }

  return {
    register,
    ...createSearch({ store, now }),
    show,
    update,
    addSecret,
    suspend,
    resume,
    remove,
    approve,
    withdraw,
    revokeAllTokens,
  }
}

interface PrepareOptions {
  now: Clock
  /** Whether to leave it out where its developer already has an application of this name. */
  skipNamesake?: boolean
}

/** Checks a registration and generates what it leaves out. Throws OperatorError with all that is wrong. */
export async function prepareApplication(
  registration: Registration,
  { now, skipNamesake = false }: PrepareOptions,
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
      suites: registration.suites ? [...new Set(registration.suites)] : 'all',
      skipNamesake,
    },
    registered: { clientId, clientSecret: generated, name, developerEmail },
  }
}

export function applicationRegistered({ clientId, name, suites }: NewApplication): Change {
  return { type: 'application registered', clientId, name, suites }
}

/** The one among these secrets that is presented. */
async function findSame(secrets: readonly Secret[], presented: string): Promise<Secret | undefined> {
  for (const secret of secrets) {
    if (isImported(secret) && (await matchesImported(secret, presented))) return secret
  }
  return findGenerated(secrets, presented)
}

function conflict(message: string): OperatorError {
  return new OperatorError(message, { kind: 'conflict' })
}

function unknownApplication(clientId: string): OperatorError {
  return new OperatorError(`There is no application with the client id ${clientId}.`, { kind: 'not found' })
}

/** An unknown suite in a registration: an error of its `suites` field. */
function unknownSuiteField(suiteId: string): OperatorError {
  const { message } = unknownSuite(suiteId)
  const fields = [{ field: 'suites', message: message.replace(/\.$/, '') }]
  return new OperatorError(message, { kind: 'invalid', fields })
}
