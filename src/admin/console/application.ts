import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { createApplicationView } from './application-view.ts'
import { donePath } from './done.ts'
import { fieldsOf } from './fields.ts'
import { path } from './html.ts'
import { changeNames } from './names.ts'
import { showPage } from './page.ts'
import { removeApplicationPage } from './remove-application-page.ts'
import { changeSecrets } from './secrets.ts'
import { assertCanChange } from './viewers.ts'

type Route = { Params: { id: string } }

/** The page of an application, and its forms. */
export function application(console: FastifyInstance, context: AdminContext): void {
  const { store } = context
  const actions = (request: FastifyRequest) => administrationOf(context, request)
  const show = createApplicationView(context)
  const pathOf = ({ params }: FastifyRequest<Route>) => path`/applications/${params.id}`

  console.get<Route>('/applications/:id', (request, reply) => show(request.params.id, reply))

  console.post<Route>('/applications/:id/approvals', async (request, reply) => {
    const { id } = request.params
    const { applications } = actions(request)
    const { ticked, unticked } = differences(request.body)
    await applications.approve(id, ...ticked)
    // Suites that were removed in the meantime no longer have approvals.
    const found = await Promise.all(unticked.map((suiteId) => store.findSuite(suiteId)))
    await applications.withdraw(id, ...unticked.filter((_, at) => found[at] !== undefined))
    return reply.redirect(donePath(pathOf(request), 'approvals-saved'), 303)
  })

  console.post<Route>('/applications/:id/suspend', async (request, reply) => {
    await actions(request).applications.suspend(request.params.id)
    return reply.redirect(donePath(pathOf(request), 'application-suspended'), 303)
  })

  console.post<Route>('/applications/:id/resume', async (request, reply) => {
    await actions(request).applications.resume(request.params.id)
    return reply.redirect(donePath(pathOf(request), 'application-resumed'), 303)
  })

  console.post<Route>('/applications/:id/revoke-tokens', async (request, reply) => {
    await actions(request).applications.revokeAllTokens(request.params.id)
    return reply.redirect(donePath(pathOf(request), 'tokens-revoked'), 303)
  })

  console.get<Route>('/applications/:id/remove', async (request, reply) => {
    assertCanChange(request)
    return showPage(reply, removeApplicationPage(await actions(request).applications.show(request.params.id)))
  })

  console.post<Route>('/applications/:id/remove', async (request, reply) => {
    await actions(request).applications.remove(request.params.id)
    return reply.redirect(donePath('/applications', 'application-removed'), 303)
  })

  changeNames(console, {
    section: '/applications',
    stored: async (id, request) => {
      const { name, developerEmail } = await actions(request).applications.show(id)
      return { name, developer_email: developerEmail }
    },
    update: (id, { name, developer_email: developerEmail }, request) =>
      actions(request).applications.update(id, { name, developerEmail }),
    show,
  })

  changeSecrets(console, context, {
    section: '/applications',
    find: (id, request) => actions(request).applications.show(id),
    show,
  })
}

/** What the operator ticked and unticked. Approvals that someone else changed in the meantime stay as they are. */
function differences(body: unknown): { ticked: string[]; unticked: string[] } {
  const fields = fieldsOf(body)
  const [shown, wanted] = [new Set(fields.all('shown')), new Set(fields.all('suite'))]
  return {
    ticked: [...wanted].filter((suiteId) => !shown.has(suiteId)),
    unticked: [...shown].filter((suiteId) => !wanted.has(suiteId)),
  }
}
