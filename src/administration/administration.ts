import type { AuditHead } from '../domain/audit-chain.ts'
import type { Audit, AuditEvent, Author } from '../domain/audit-event.ts'
import { makeChange } from '../domain/change.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import type { Period, TimeRange } from '../domain/usage.ts'
import { PUBLIC_FIELDS } from '../views/registry.ts'
import { createApplications } from './applications.ts'
import { acknowledge, listAcknowledged, type Matter } from './attention.ts'
import { findHead, verifyAudit } from './audit-chain.ts'
import { type AuditQuery, listRemovals, namesOfSubjects, searchAuditEvents } from './audit-trail.ts'
import type { Context } from './context.ts'
import { createFederated } from './federated.ts'
import { createHandOvers } from './hand-overs.ts'
import { createOperators } from './operators.ts'
import { LOOKED_AT, type RefusalQuery, searchRefusedRequests } from './refusals.ts'
import { createSecrets } from './secrets.ts'
import { createSeed } from './seed.ts'
import { createSuites } from './suites.ts'
import { createUndo } from './undo.ts'
import { usageOf } from './usage.ts'
import { createWhy } from './why.ts'

export type Conditions = Pick<Audit, 'onlyIf' | 'isTrial'>

export interface AdministrationOptions {
  store: Store
  now: Clock
  observe: Observer
  author: Author
  conditions?: Conditions | undefined
  /** Where hand-over links lead; undefined if they are off. */
  handOverUrl?: string | undefined
  /** The audience of federated credentials unless they have another one. */
  publicUrl?: string | undefined
}

export type Administration = ReturnType<typeof createAdministration>

/** What operators can do. A method that throws OperatorError has changed nothing. */
export function createAdministration({ store, now, observe, author, conditions, ...urls }: AdministrationOptions) {
  const { handOverUrl, publicUrl = '' } = urls
  const audit = () => ({ author, at: now(), publicFields: PUBLIC_FIELDS, ...conditions })
  const context: Context = {
    store,
    now,
    audit,
    report: (change) => observe({ ...change, ...author }),
    change: (change, audited = audit()) => makeChange({ store, observe }, change, audited),
  }
  return {
    applications: createApplications(context),
    suites: createSuites(context),
    secrets: createSecrets(context),
    federated: createFederated(context, { observe, publicUrl }),
    handOvers: createHandOvers(context, handOverUrl),
    operators: createOperators(context),
    seed: createSeed(context),
    ...createUndo(context),
    searchRefusedRequests: (query: RefusalQuery) => searchRefusedRequests(store, query),
    countRefusedRequests: store.countRefusedRequests,
    listLastRefused: () => store.listLastRefused(LOOKED_AT),
    searchAuditEvents: (query: AuditQuery, maxSteps?: number) => searchAuditEvents(store, query, maxSteps),
    acknowledge: (matters: readonly Matter[]) => acknowledge(context, matters),
    listAcknowledged: () => listAcknowledged(context),
    findAuditHead: () => findHead(store, now()),
    verifyAudit: (known?: AuditHead) => verifyAudit(store, now(), known),
    namesOfSubjects: (events: readonly AuditEvent[]) => namesOfSubjects(store, events),
    listRemovals: () => listRemovals(store),
    listEndingSecrets: (before: number, limit: number) => store.listEndingSecrets(now(), before, limit),
    why: createWhy(context),
    usageOf: (clientId: string, asked: Period | TimeRange) => usageOf(context, clientId, asked),
  }
}
