import type { FastifyInstance } from 'fastify'
import { html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { PARENT as APPLICATIONS, approvalsIn } from './application.ts'
import { name, note, time } from './components.ts'
import { fieldsOf, hidden } from './forms.ts'
import { showPage } from './layout.ts'
import { headBelow, sentFor } from './owner.ts'
import { PARENT as SUITES } from './suites.ts'

/** The forms that change what a file may say. Secrets and tokens are never in a file. */
const ASKED = /^\/(applications|suites)\/:id(\/(suspend|resume|approve|undo|remove))?$/

/** The field that says that the operator knows what manages it. */
const CONFIRMED = 'although_managed_by'

/** Asks before an application or a suite is changed by hand that a file or a program manages, and sends the form once more. */
export function askIfManaged(console: FastifyInstance, context: AdminContext): void {
  console.addHook('preHandler', async (request, reply) => {
    const [, kind, action] = (request.method === 'POST' && ASKED.exec(String(request.routeOptions.url))) || []
    if (!kind) return
    const { id } = request.params as { id: string }
    const owner = await administrationOf(context, request)[kind as 'applications' | 'suites'].find(id)
    const { all } = fieldsOf(request.body)
    if (!owner?.managedBy || all(CONFIRMED).includes(owner.managedBy)) return
    const isEdited = sentFor(owner, request.body).some((sent) => sent.isEdited)
    const approvals = Object.values(approvalsIn(request.body)).flat()
    if (!action && !isEdited && approvals.length === 0) return
    const parent = kind === 'suites' ? SUITES : APPLICATIONS
    const base = `${parent.href}${path`/${id}`}`
    const fields = Object.keys({ ...(request.body as object) }).filter((field) => field !== CONFIRMED)
    const sent = fields.flatMap((field) => all(field).flatMap((value) => hidden({ [field]: value })))
    return showPage(reply, {
      ...headBelow(parent, base, ['Change ', owner.name, ' by hand?']),
      content: html`<form class="panel form" method="post" action="${request.url}">${sent}${hidden({ [CONFIRMED]: owner.managedBy })}
${note('warn', html`<p>${name(owner.name)} is managed by ${name(owner.managedBy)}, applied ${time(owner.appliedAt)}. That may undo what is changed here: change it there, too.</p>`)}
<div class="buttons"><button class="button danger">Change it here</button><a class="button" href="${base}">Cancel</a></div></form>`,
    })
  })
}
