import type * as z from 'zod'
import {
  type Application,
  type ApplicationChanges,
  type ApplicationExtras,
  type ApplicationValues,
  extrasOf,
  generateClientId,
  type NewApplication,
  namedSuites,
} from '../domain/application.ts'
import type { Change, ChangeEvent, ChangeResult } from '../domain/change.ts'
import type { FederatedRule } from '../domain/federation.ts'
import { OperatorError } from '../domain/operator-error.ts'
import {
  digestGenerated,
  digestImported,
  findGenerated,
  generateSecret,
  isImported,
  MAX_IMPORTED,
  matchesImported,
  type NewSecret,
  newFederated,
  type Secret,
  secretState,
} from '../domain/secret.ts'
import { unknownSuite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import type { Context, ReadContext } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'
import {
  type FederatedInput,
  importedSecretSchema,
  registrationSchema,
  settingsSchema,
  takenId,
  updateSchema,
  valid,
} from './rules.ts'
import { createSearch, type ListedApplication, withUse } from './search.ts'
import { type ListedSecret, listSecrets } from './secrets.ts'

/** A missing client id or secret is generated; without suites, it is approved for none. */
export type Registration = z.infer<typeof registrationSchema>

export type ApplicationSettings = z.infer<typeof settingsSchema>

export interface RegisteredApplication extends ApplicationValues, Pick<ApplicationChanges, keyof ApplicationExtras> {
  clientId: string
  status?: Application['status'] | undefined
  /** The generated secret, which is shown only once; empty if it has none. Undefined if the secret was imported. */
  clientSecret: string | undefined
}

export interface ShownApplication extends ListedApplication {
  secrets: ListedSecret[]
}

export function createApplications(context: Context) {
  const { store, now, report } = context

  /** Resolves to the application, with the suites that it is approved for now. */
  async function register(
    registration: Registration,
    repeatable: Repeatable = {},
  ): Promise<RegisteredApplication & Pick<Application, 'suites'>> {
    const registered = await once<RegisteredApplication>(context, repeatable, async (auditOf) => {
      const { newApplication, registered } = await prepareApplication(registration, now)
      await assertSuites(context, namedSuites(newApplication.suites), unknownSuiteField)
      const added = await store.register({ suites: [], applications: [newApplication] }, auditOf(registered))
      if (added.applications.length === 0) throw takenId(newApplication.clientId)
      report(applicationRegistered(newApplication))
      return registered
    })
    // If the store fails now, the secret must not be lost.
    const asked = { suites: namedSuites(registration.suites) }
    // Undefined if it was removed in the meantime, for example before this call was repeated.
    const { suites } = (await store.findApplication(registered.clientId).catch(() => asked)) ?? { suites: [] }
    return { ...registered, suites }
  }

  const show = async (clientId: string) => shownApplication(context, await find(context, clientId))

  return {
    register,
    ...createSearch(context),
    find: store.findApplication,
    show,
    ...createApplicationChanges(context),
    edit: createEdit(context),
  }
}

export async function shownApplication(context: ReadContext, application: Application) {
  const [listed] = (await withUse(context, [application])) as [ListedApplication]
  return { ...listed, secrets: await listSecrets(context, application.secrets) }
}

/** Changes go to the store even if nothing seems to differ: the same change by another process may not be durable yet. */
function createApplicationChanges(context: Context) {
  const { now, change } = context

  /** Changes the given fields. Resolves to true if any differed. Throws OperatorError with everything that is wrong. */
  async function update(clientId: string, changes: ApplicationChanges): Promise<boolean> {
    const values = valid(updateSchema, changes)
    return changeExisting({ type: 'application updated', clientId, values })
  }

  /** Sets an application to these values. Resolves to what differed. Throws OperatorError with everything that is wrong. */
  async function set(clientId: string, settings: ApplicationSettings): Promise<ChangeResult> {
    const { status, suites, federated, ...values } = valid(settingsSchema, settings)
    await find(context, clientId)
    await assertSuites(context, suites, unknownSuiteField)
    const credentials = federated?.map((rule) => federatedOf(rule, now()))
    return change({ type: 'application updated', clientId, values, status, suites, federated: credentials })
  }

  /** Imports a secret in addition to the others. Throws OperatorError if it equals an active one, or if there are too many. */
  async function addSecret(clientId: string, clientSecret: string): Promise<void> {
    valid(importedSecretSchema, { clientSecret })
    const { secrets } = await find(context, clientId)
    const active = secrets.filter((secret) => secretState(secret, now()) === 'active')
    const same = await findSame(active, clientSecret)
    if (same) throw new OperatorError(`${clientId} already has this secret: secret ${same.id}.`)
    const imported = secrets.filter((secret) => isImported(secret) && secret.revokedAt === null)
    if (imported.length >= MAX_IMPORTED) {
      const ids = imported.map(({ id }) => id).join(' and ')
      throw new OperatorError(`${clientId} already has ${MAX_IMPORTED} imported secrets (${ids}): revoke one first.`)
    }
    const secret = { digest: await digestImported(clientSecret), createdAt: now() }
    const { changed } = await change({ type: 'secret added', owner: clientId, secret })
    if (!changed) throw unknownApplication(clientId)
  }

  /** Approves, or withdraws approvals, effective from the next check on. Resolves to the suites whose approval changed. */
  async function changeApprovals(
    type: 'application approved' | 'approval withdrawn',
    clientId: string,
    suiteIds: string[],
  ): Promise<string[]> {
    await find(context, clientId)
    await assertSuites(context, suiteIds)
    const changed: string[] = []
    for (const suite of new Set(suiteIds)) {
      if ((await change({ type, clientIds: [clientId], suite })).changed) changed.push(suite)
    }
    return changed
  }

  /** Resolves to true if anything changed. Throws OperatorError if the application does not exist. */
  async function changeExisting(one: Change & { clientId: string }): Promise<boolean> {
    await find(context, one.clientId)
    return (await change(one)).changed
  }

  return {
    update,
    set,
    addSecret,
    /** From the next request on it gets no tokens, and its tokens are inactive. */
    suspend: (clientId: string) => changeExisting({ type: 'application suspended', clientId }),
    resume: (clientId: string) => changeExisting({ type: 'application resumed', clientId }),
    remove: (clientId: string) => changeExisting({ type: 'application removed', clientId }),
    approve: (clientId: string, ...suiteIds: string[]) => changeApprovals('application approved', clientId, suiteIds),
    withdraw: (clientId: string, ...suiteIds: string[]) => changeApprovals('approval withdrawn', clientId, suiteIds),
    revokeAllTokens: (clientId: string) => changeExisting({ type: 'all tokens revoked', clientId }),
  }
}

/** What one form changes: fields and approvals. Resolves to true if anything differed. Throws OperatorError. */
function createEdit(context: Context) {
  const { audit, change } = context

  return async (
    clientId: string,
    changes: ApplicationChanges,
    approved: string[],
    withdrawn: string[],
  ): Promise<boolean> => {
    const values = valid(updateSchema, changes)
    await find(context, clientId)
    await assertSuites(context, approved)
    const clientIds = [clientId]
    const all: Change[] = [
      { type: 'application updated', clientId, values },
      ...approved.map((suite) => ({ type: 'application approved' as const, clientIds, suite })),
      ...withdrawn.map((suite) => ({ type: 'approval withdrawn' as const, clientIds, suite })),
    ]
    // The same time, by which an undo finds all of them.
    const audited = audit()
    let isChanged = false
    for (const one of all) if ((await change(one, audited)).changed) isChanged = true
    return isChanged
  }
}

/** Throws OperatorError if it does not exist. */
export async function find({ store }: Context, clientId: string): Promise<Application> {
  const application = await store.findApplication(clientId)
  if (application) return application
  throw unknownApplication(clientId)
}

export function unknownApplication(clientId: string): OperatorError {
  return new OperatorError(`There is no application with the client id ${clientId}.`, { kind: 'not found' })
}

/** Throws `unknown` for the first suite that does not exist. */
async function assertSuites({ store }: Context, suiteIds: Iterable<string>, unknown = unknownSuite): Promise<void> {
  for (const suiteId of suiteIds) if (!(await store.findSuite(suiteId))) throw unknown(suiteId)
}

/** Validates a registration and generates what is missing. `registered` is what the operator sees. Throws OperatorError. */
export async function prepareApplication(registration: Registration, now: Clock, { skipNamesake = false } = {}) {
  const {
    clientId = generateClientId(),
    clientSecret,
    suites = [],
    status = 'active',
    federated = [],
    ...fields
  } = valid(registrationSchema, registration)
  const values = { ...fields, status, ...extrasOf(fields) }
  const generated = federated.length === 0 ? generateSecret() : ''
  const digest =
    clientSecret === undefined ? generated && digestGenerated(generated) : await digestImported(clientSecret)
  const createdAt = now()
  const newApplication: NewApplication = {
    clientId,
    ...values,
    createdAt,
    secrets: [...(digest ? [{ digest, createdAt }] : []), ...federated.map((rule) => federatedOf(rule, createdAt))],
    suites: suites === 'all' ? suites : [...new Set(suites)],
    skipNamesake,
  }
  const registered: RegisteredApplication = {
    clientId,
    clientSecret: clientSecret === undefined ? generated : undefined,
    ...values,
  }
  return { newApplication, registered }
}

/** The stored form of a federated credential that keeps the rules. */
export function federatedOf({ ends_at, ...rule }: FederatedInput, createdAt: number): NewSecret {
  return newFederated(rule as FederatedRule, { createdAt, endsAt: ends_at ? Date.parse(ends_at) : null })
}

export function applicationRegistered({ clientId, name, suites }: NewApplication): ChangeEvent {
  return { type: 'application registered', clientId, name, suites }
}

async function findSame(secrets: readonly Secret[], presented: string): Promise<Secret | undefined> {
  for (const secret of secrets) {
    if (isImported(secret) && (await matchesImported(secret, presented))) return secret
  }
  return findGenerated(secrets, presented)
}

function unknownSuiteField(suiteId: string): OperatorError {
  const { message } = unknownSuite(suiteId)
  const fields = [{ field: 'suites', message: message.replace(/\.$/, '') }]
  return new OperatorError(message, { kind: 'invalid', fields })
}
