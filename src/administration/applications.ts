import {
  type Application,
  type ApplicationChanges,
  type ApplicationValues,
  generateClientId,
  type NewApplication,
} from '../domain/application.ts'
import type { Change, ChangeEvent } from '../domain/change.ts'
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
export interface Registration extends ApplicationValues {
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** The suites to approve it for; left out: every suite there is. */
  suites?: string[] | undefined
}

/** A registered application. A generated secret is shown this once; undefined where it was imported. */
export interface RegisteredApplication extends ApplicationValues {
  clientId: string
  clientSecret: string | undefined
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

/** Applications: the clients that may ask for tokens. */
export function createApplications(context: Context) {
  const { store, now, report } = context

  /** Registers one application. Resolves with the suites it is approved for now. */
  async function register(
    registration: Registration,
    repeatable: Repeatable = {},
  ): Promise<RegisteredApplication & Pick<Application, 'suites'>> {
    const registered = await once<RegisteredApplication>(context, repeatable, async (auditOf) => {
      const { newApplication, registered } = await prepareApplication(registration, { now })
      await assertSuites(context, registration.suites ?? [], unknownSuiteField)
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
    const application = await find(context, clientId)
    const [use] = await store.listApplicationUses([application.key])
    return {
      ...application,
      secrets: await listSecrets({ store, now }, application.secrets),
      lastTokenAt: use?.lastTokenAt,
    }
  }

  return { register, ...createSearch({ store, now }), show, ...createApplicationChanges(context) }
}

/**
 * Changes of one application. The store is asked also where an application is so already: what another process did a moment ago
 * may not be on disk yet.
 */
function createApplicationChanges(context: Context) {
  const { now, change } = context

  /** Changes what is given. Resolves to whether any value was another one. Throws OperatorError with all that is wrong. */
  async function update(clientId: string, changes: ApplicationChanges): Promise<boolean> {
    const values = valid(updateSchema, changes)
    return changeKnown({ type: 'application updated', clientId, values })
  }

  /**
   * Adds a secret that the application has elsewhere; its other secrets stay as they are. Throws OperatorError where an active
   * one is the same.
   */
  async function addSecret(clientId: string, clientSecret: string): Promise<void> {
    valid(importedSecretSchema, { clientSecret })
    const { secrets } = await find(context, clientId)
    const active = secrets.filter((secret) => secretState(secret, now()) === 'active')
    const same = await findSame(active, clientSecret)
    if (same) throw conflict(`${clientId} has this secret already: it is its secret ${same.id}.`)
    const imported = secrets.filter((secret) => isImported(secret) && secret.revokedAt === null)
    if (imported.length >= MAX_IMPORTED) {
      const ids = imported.map(({ id }) => id).join(' and ')
      throw conflict(`${clientId} has ${MAX_IMPORTED} imported secrets already (${ids}): revoke one first.`)
    }
    const secret = { digest: await digestImported(clientSecret), createdAt: now() }
    await change({ type: 'secret added', owner: clientId, secret })
  }

  /** Approves an application for suites, or withdraws that, from the next check on. Resolves to the suites that changed. */
  async function changeApprovals(
    type: 'application approved' | 'approval withdrawn',
    clientId: string,
    suiteIds: string[],
  ): Promise<string[]> {
    await find(context, clientId)
    await assertSuites(context, suiteIds)
    const changed: string[] = []
    for (const suite of new Set(suiteIds)) {
      if ((await change({ type, clientId, suite })).changed) changed.push(suite)
    }
    return changed
  }

  /** Resolves to whether anything changed. Throws OperatorError if there is no such application. */
  async function changeKnown(one: Change & { clientId: string }): Promise<boolean> {
    const { changed } = await change(one)
    if (!changed) await find(context, one.clientId)
    return changed
  }

  return {
    update,
    addSecret,
    /** From the next request on the application gets no token, and its tokens are inactive. */
    suspend: (clientId: string) => changeKnown({ type: 'application suspended', clientId }),
    resume: (clientId: string) => changeKnown({ type: 'application resumed', clientId }),
    remove: (clientId: string) => changeKnown({ type: 'application removed', clientId }),
    approve: (clientId: string, ...suiteIds: string[]) => changeApprovals('application approved', clientId, suiteIds),
    /** Resolves to the suites that it was approved for. */
    withdraw: (clientId: string, ...suiteIds: string[]) => changeApprovals('approval withdrawn', clientId, suiteIds),
    /** Revokes every token that the application was issued until now. */
    revokeAllTokens: (clientId: string) => changeKnown({ type: 'all tokens revoked', clientId }),
  }
}

/** Throws OperatorError if there is no application of this client id. */
async function find({ store }: Context, clientId: string): Promise<Application> {
  const application = await store.findApplication(clientId)
  if (application) return application
  throw new OperatorError(`There is no application with the client id ${clientId}.`, { kind: 'not found' })
}

/** Throws `unknown` of the first of these suites that does not exist. */
async function assertSuites({ store }: Context, suiteIds: Iterable<string>, unknown = unknownSuite): Promise<void> {
  for (const suiteId of suiteIds) if (!(await store.findSuite(suiteId))) throw unknown(suiteId)
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
  const { clientId = generateClientId(), clientSecret, ...values } = valid(registrationSchema, registration)
  const generated = clientSecret === undefined ? generateSecret() : undefined
  const digest = clientSecret === undefined ? digestGenerated(generated as string) : await digestImported(clientSecret)
  const createdAt = now()
  return {
    newApplication: {
      clientId,
      ...values,
      createdAt,
      secret: { digest, createdAt },
      suites: registration.suites ? [...new Set(registration.suites)] : 'all',
      skipNamesake,
    },
    registered: { clientId, clientSecret: generated, ...values },
  }
}

export function applicationRegistered({ clientId, name, suites }: NewApplication): ChangeEvent {
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

/** An unknown suite in a registration: an error of its `suites` field. */
function unknownSuiteField(suiteId: string): OperatorError {
  const { message } = unknownSuite(suiteId)
  const fields = [{ field: 'suites', message: message.replace(/\.$/, '') }]
  return new OperatorError(message, { kind: 'invalid', fields })
}
