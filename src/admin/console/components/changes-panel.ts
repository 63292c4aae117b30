import type { AuditEvent } from '../../../domain/audit-event.ts'
import { eventTable } from '../audit.ts'
import { type Html, html } from '../html.ts'
import { section } from './words.ts'

/** The last changes of an application or a suite. */
export function changesPanel(subject: string, events: readonly AuditEvent[]): Html {
  const all = html`<a href="${`/audit?${new URLSearchParams({ subject })}`}">All changes</a>`
  const content =
    events.length === 0
      ? html`<p class="quiet-text">No changes in the last 400 days.</p>`
      : eventTable(events, { isOfOne: true })
  return section('changes', 'Last changes', content, all)
}
