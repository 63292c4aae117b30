import type { AuditEvent } from '../domain/audit-event.ts'
import { inSteps } from '../domain/in-steps.ts'
import { readableName } from '../domain/operator.ts'
import { searchAuditEvents } from './audit-trail.ts'

export interface Removal {
  clientId: string
  name: string
  by: string
  at: number
}

type Trail = Parameters<typeof searchAuditEvents>[0]

/** Undefined if no such application is known, or it was not removed. */
export async function findRemoval(store: Trail, clientId: string): Promise<Removal | undefined> {
  const [last] = await store.listAuditEvents({ subject: clientId, kind: 'application', limit: 1 })
  return last?.action === 'application removed' ? removalOf(last) : undefined
}

/**
 * Those not registered again, newest first. Reads this many hundreds of the last changes in small steps; the changes of one
 * request count as one.
 */
export async function listRemovals(store: Trail, hundreds: number): Promise<Removal[]> {
  const query = { action: 'application removed', grouped: true, limit: hundreds * 100 }
  const { events } = await searchAuditEvents(store, query, hundreds)
  const last = [...Map.groupBy(events, ({ subject }) => subject.id).values()].map(([event]) => event as AuditEvent)
  const removals: Removal[] = []
  await inSteps(last, async (step) => {
    const present = await Promise.all(step.map(({ subject }) => store.findApplication(subject.id)))
    removals.push(...step.filter((_, n) => !present[n]).map(removalOf))
  })
  return removals
}

function removalOf({ subject, before, actor, actorEmail, at }: AuditEvent): Removal {
  const by = readableName({ name: actor, email: actorEmail })
  return { clientId: subject.id, name: String(before?.name), by, at }
}
