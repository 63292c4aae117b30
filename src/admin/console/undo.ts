import type { FastifyRequest } from 'fastify'
import type { Application } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf, callerOf } from '../wire/caller.ts'
import { difference } from './audit.ts'
import { redirectChanged } from './changed.ts'
import { fieldsOf, hidden } from './forms.ts'
import { icon } from './icons.ts'
import type { OwnerForms } from './owner.ts'

const DONE: Readonly<Record<string, string>> = {
  'application suspended': 'The application is suspended: it gets no tokens, and the tokens that it has are refused.',
  'application resumed': 'The application is active again.',
  'application approved': 'It is approved: its tokens are valid there from the next check on.',
  'approval withdrawn': 'The approval is withdrawn: its tokens are refused there from the next check on.',
  'change undone': 'The change is undone.',
}

/** What the operator has just changed here, with a button that undoes it, unless something else was changed since. */
export async function changeMessage(
  context: AdminContext,
  request: FastifyRequest,
  owner: Application | Suite,
): Promise<Html | undefined> {
  const changed = fieldsOf(request.query).text('changed')
  if (changed === '') return
  const last = await administrationOf(context, request).findLastChange(owner)
  if (String(last?.id) !== changed || last?.actor !== callerOf(request).operator.name) return
  const action = 'clientId' in owner ? path`/applications/${owner.clientId}/undo` : path`/suites/${owner.suiteId}/undo`
  return html`<div class="note good" role="status"><p>${DONE[last.action] ?? 'The changes are saved.'}</p>${difference(last.before, last.after)}
<form method="post" action="${action}">${hidden({ changed })}<div class="buttons"><button class="button">${icon('undo')}Undo</button></div></form></div>`
}

export function undoChanges(onForm: OwnerForms, context: AdminContext): void {
  onForm('undo', async ({ owner, base, request, reply, undoLastChange }) => {
    const isChanged = await undoLastChange(owner, Number(fieldsOf(request.body).text('changed')))
    return redirectChanged(context, reply, base, isChanged)
  })
}
