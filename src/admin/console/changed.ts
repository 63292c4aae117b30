import type { FastifyReply, FastifyRequest } from 'fastify'
import { suitesOf } from '../../administration/undo.ts'
import type { AuditEvent } from '../../domain/audit-event.ts'
import { readableName } from '../../domain/operator.ts'
import { many } from '../../domain/text.ts'
import { address, type Html, html } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf, callerOf } from '../wire/caller.ts'
import { name } from './components.ts'
import { fieldsOf, hidden, redirectDone } from './forms.ts'
import { icon } from './icons.ts'

// Messages after a change, which are made from its audit event: the `changed` of the address.

/** Redirects after a form to the page at `path`, which says what this request has changed, if it has changed anything. */
export async function redirectChanged(
  context: AdminContext,
  reply: FastifyReply,
  path: string,
  isChanged = true,
): Promise<FastifyReply> {
  if (!isChanged) return redirectDone(reply, path, 'nothing-changed')
  const { id: requestId } = reply.request
  const { events } = await administrationOf(context, reply.request).searchAuditEvents({ requestId, limit: 1 })
  return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}changed=${events[0]?.id}`, 303)
}

/** The audit event that the address names, if it is of this operator. */
async function changedBy(context: AdminContext, request: FastifyRequest): Promise<AuditEvent | undefined> {
  const id = fieldsOf(request.query).text('changed')
  if (!/^\d{1,15}$/.test(id)) return
  const query = { before: Number(id) + 1, grouped: true, limit: 1 }
  const [event] = (await administrationOf(context, request).searchAuditEvents(query)).events
  if (String(event?.id) === id && event?.actor === callerOf(request).operator.name) return event
}

/** What is removed with an application, a suite or an operator, by the fields of audit events. */
const PARTS = { secrets: 'secret', suites: 'approval', keys: 'key', sessions: 'session' }

const APPROVALS = { 'application approved': 'approved', 'approval withdrawn': 'no longer approved' }

/** The message about a removal or a change of approvals, on the list to which its form leads. */
export async function changedMessage(context: AdminContext, request: FastifyRequest): Promise<Html | undefined> {
  const event = await changedBy(context, request)
  if (event?.action.endsWith(' removed')) return removalMessage(event)
  const done = APPROVALS[event?.action as keyof typeof APPROVALS]
  if (!event || !done) return
  const { changed, ...query } = request.query as Record<string, string>
  const [suite] = suitesOf(event)
  return html`<div class="note good" role="status" data-ticks-done="${query.for}"><p>${many(event.count, 'application')} ${event.count === 1 ? 'is' : 'are'} ${done} for <code>${suite}</code>, from the next check on.</p>
<form method="post" action="${address('/applications', query)}">${hidden({ undo: String(event.id) })}<div class="buttons"><button class="button">${icon('undo')}Undo</button></div></form></div>`
}

function removalMessage(event: AuditEvent): Html {
  const before = event.before as Record<string, unknown>
  const lists = Object.entries(PARTS).map(([field, part]) => [(before[field] ?? []) as unknown[], part] as const)
  const counts = lists.filter(([list]) => list.length > 0).map(([list, part]) => many(list.length, part))
  const parts = counts.length > 0 && `, with ${new Intl.ListFormat('en').format(counts)}`
  // Only operators have an email address of their own.
  const shown = readableName({ name: String(before.name), email: (before.email as string | null | undefined) ?? null })
  return html`<div class="note good" role="status"><p>${name(shown)} is removed${parts}.</p></div>`
}
