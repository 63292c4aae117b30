import type * as z from 'zod'
import { type Application, hasLabel } from '../domain/application.ts'
import { chunksOf, inSteps } from '../domain/in-steps.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, generateSecret } from '../domain/secret.ts'
import type { Page } from '../domain/store.ts'
import { type NewSuite, type Suite, type SuiteChanges, unknownSuite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import { beginningsOf, type Counts, PERIODS, sumOf } from '../domain/usage.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'
import { allPages, type PageQuery, pageOf } from './pages.ts'
import { MAX_APPROVALS, suiteSchema, suiteUpdateSchema, takenId, valid } from './rules.ts'
import { byName, type SearchFilter } from './search.ts'
import { type ListedSecret, listSecrets } from './secrets.ts'

export type SuiteRegistration = z.infer<typeof suiteSchema>

/** A registered suite. Its secret is shown only once. */
export interface RegisteredSuite extends SuiteRegistration {
  clientSecret: string
}

export interface ShownSuite extends Suite {
  secrets: ListedSecret[]
}

type SuiteFilter = Pick<SearchFilter, 'labels'>

/** With what it did in the last hour. */
export interface ListedSuite extends ShownSuite, Counts {
  /** Number of approved applications; MANY_APPROVED means that many or more. */
  approved: number
}

/** For suites in a list, counting stops here: with many suites, counting all takes too long. */
export const MANY_APPROVED = 1000

/** Looking up this many takes a few milliseconds. */
const LOOKED_UP_AT_A_TIME = 100

export function createSuites(context: Context) {
  const { store, now, change, report } = context

  /** `notApproved` is the number of applications, none of which is approved for the new suite. */
  async function register(
    registration: SuiteRegistration,
    repeatable: Repeatable = {},
  ): Promise<RegisteredSuite & { notApproved: number }> {
    // Comes before the registration: if this failed afterwards, the suite's secret would be lost.
    const notApproved = await store.countApplications()
    const registered = await once<RegisteredSuite>(context, repeatable, async (auditOf) => {
      const { newSuite, registered } = prepareSuite(registration, now)
      const added = await store.register({ suites: [newSuite], applications: [] }, auditOf(registered))
      if (added.suites.length === 0) throw takenId(newSuite.suiteId)
      report({ type: 'suite registered', suite: newSuite.suiteId, name: newSuite.name })
      return registered
    })
    return { ...registered, notApproved }
  }

  async function show(suiteId: string): Promise<ShownSuite> {
    const suite = await find(context, suiteId)
    return { ...suite, secrets: await listSecrets(context, suite.secrets) }
  }

  /** Changes the given fields. Resolves to true if any differed. Throws OperatorError with everything that is wrong. */
  async function update(suiteId: string, changes: SuiteChanges): Promise<boolean> {
    const values = valid(suiteUpdateSchema, changes)
    const { changed } = await change({ type: 'suite updated', suite: suiteId, values })
    if (!changed) await find(context, suiteId)
    return changed
  }

  /** Takes effect with the next check. */
  async function remove(suiteId: string): Promise<void> {
    const { changed } = await change({ type: 'suite removed', suite: suiteId })
    if (!changed) throw unknownSuite(suiteId)
  }

  return { register, show, update, remove, ...createSuiteApprovals(context), ...createSuiteLists(context) }
}

function createSuiteApprovals(context: Context) {
  const { store, audit, change } = context

  /**
   * Approves applications, or withdraws their approvals: MAX_APPROVALS in one transaction. Resolves to the client ids whose
   * approval changed. Throws OperatorError before anything is changed if one of them is unknown.
   */
  async function changeApprovals(suiteId: string, clientIds: readonly string[], approved: boolean): Promise<string[]> {
    await find(context, suiteId)
    const distinct = new Set(clientIds)
    const unknown: string[] = []
    const look = async (clientId: string) => (await store.findApplication(clientId)) ?? unknown.push(clientId)
    await inSteps(distinct, async (step) => void (await Promise.all(step.map(look))), LOOKED_UP_AT_A_TIME)
    if (unknown.length > 0) throw unknownClientIds(unknown)
    const type = approved ? 'application approved' : 'approval withdrawn'
    const changed: string[] = []
    // The audit page shows simultaneous changes as one.
    const audited = audit()
    for (const step of chunksOf(distinct, MAX_APPROVALS)) {
      changed.push(...(await change({ type, clientIds: step, suite: suiteId }, audited)).subjects)
    }
    return changed
  }

  return { changeApprovals }
}

const mostFirst = (of: 'checks' | 'refusals') => (one: Counts, other: Counts) => other[of] - one[of]

function createSuiteLists(context: Context) {
  const { store, now } = context
  const idsOf = (suites: readonly Suite[]) => suites.map(({ suiteId }) => suiteId)

  async function list({ labels = [] }: SuiteFilter = {}): Promise<Suite[]> {
    const all = await allPages<Suite>(store.listSuites)
    return all.filter((suite) => labels.every((label) => hasLabel(suite.labels, label)))
  }

  async function listPage({ labels, ...query }: SuiteFilter & PageQuery) {
    const found = async ({ after = 0, limit }: Page<Suite['key'] | number>) =>
      (await list({ labels })).filter(({ key }) => key > after).slice(0, limit)
    return pageOf<Suite>(query, labels ? found : store.listSuites)
  }

  /** A page of suites in the order of `sort`: `name`, or most `checks` or `refusals` in the last hour; else oldest first. */
  async function browse({ labels, sort, from, limit }: SuiteFilter & { sort: string; from: number; limit: number }) {
    const all = await list({ labels })
    if (sort === 'name') all.sort((one, other) => byName(one.name, other.name))
    const counted = sort === 'checks' || sort === 'refusals' ? (await withCounts(all)).sort(mostFirst(sort)) : all
    return { suites: await listed(counted.slice(from, from + limit)), total: all.length }
  }

  async function listed(suites: readonly Suite[]): Promise<ListedSuite[]> {
    const approved = await store.countApproved(idsOf(suites), MANY_APPROVED)
    const allSecrets = suites.flatMap(({ secrets }) => secrets)
    const secrets = new Map((await listSecrets(context, allSecrets)).map((secret) => [secret.id, secret]))
    return (await withCounts(suites)).map((suite, at) => ({
      ...suite,
      secrets: suite.secrets.map(({ id }) => secrets.get(id) as ListedSecret),
      approved: approved[at] as number,
    }))
  }

  /** Adds what they did in the last hour. */
  async function withCounts(suites: readonly Suite[]): Promise<(Suite & Counts)[]> {
    const { span } = PERIODS['1h']
    const beginnings = beginningsOf(PERIODS['1h'], now())
    const all: (Suite & Counts)[] = []
    const addStep = async (step: Suite[]) => {
      const counted = Map.groupBy(await store.listUsage(idsOf(step), span, beginnings), ({ clientId }) => clientId)
      all.push(...step.map((suite) => ({ ...suite, ...sumOf(counted.get(suite.suiteId) ?? []) })))
    }
    await inSteps(suites, addStep, LOOKED_UP_AT_A_TIME)
    return all
  }

  return {
    find: store.findSuite,
    list,
    listFirst: (limit: number) => store.listSuites({ limit }),
    listPage,
    browse,
    listApproved: (suiteId: string) => allPages<Application>((page) => store.listApprovedApplications(suiteId, page)),
    listApprovedPage: (suiteId: string, query: PageQuery) =>
      pageOf<Application>(query, (page) => store.listApprovedApplications(suiteId, page)),
    async countApproved(suiteId: string): Promise<number> {
      const [count] = await store.countApproved([suiteId], Number.MAX_SAFE_INTEGER)
      return count as number
    },
  }
}

/** Throws OperatorError if it does not exist. */
export async function find({ store }: Context, suiteId: string): Promise<Suite> {
  const suite = await store.findSuite(suiteId)
  if (!suite) throw unknownSuite(suiteId)
  return suite
}

function unknownClientIds(clientIds: readonly string[]): OperatorError {
  const fields = clientIds.map((id) => ({
    field: 'client_ids',
    message: `There is no application with the client id ${id}`,
  }))
  return new OperatorError(`${fields.map(({ message }) => message).join('; ')}.`, { kind: 'invalid', fields })
}

/** Validates a registration and generates a secret. `registered` is for the operator. Throws OperatorError. */
export function prepareSuite(registration: SuiteRegistration, now: Clock) {
  const { url = '', labels = {}, note = '', managedBy = '', ...rest } = valid(suiteSchema, registration)
  const values = { ...rest, url, labels, note, managedBy }
  const clientSecret = generateSecret()
  const createdAt = now()
  const secret = { digest: digestGenerated(clientSecret), createdAt }
  const newSuite: NewSuite = { ...values, createdAt, secret }
  return { newSuite, registered: { ...values, clientSecret } }
}
