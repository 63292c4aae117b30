import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { donePath } from './done.ts'
import { changeNames } from './names.ts'
import { showPage } from './page.ts'
import { removeSuitePage } from './remove-suite-page.ts'
import { changeSecrets } from './secrets.ts'
import { createSuiteView } from './suite-view.ts'
import { assertCanChange } from './viewers.ts'

type Route = { Params: { id: string } }

/** The page of a suite, and its forms. */
export function suite(console: FastifyInstance, context: AdminContext): void {
  const actions = (request: FastifyRequest) => administrationOf(context, request).suites
  const show = createSuiteView(context)

  console.get<Route>('/suites/:id', (request, reply) => show(request.params.id, reply))

  console.get<Route>('/suites/:id/remove', async (request, reply) => {
    assertCanChange(request)
    const { id } = request.params
    const suites = actions(request)
    return showPage(reply, removeSuitePage(await suites.show(id), await suites.countApproved(id)))
  })

  console.post<Route>('/suites/:id/remove', async (request, reply) => {
    await actions(request).remove(request.params.id)
    return reply.redirect(donePath('/suites', 'suite-removed'), 303)
  })

  changeNames(console, {
    section: '/suites',
    stored: async (id, request) => ({ name: (await actions(request).show(id)).name }),
    update: (id, { name }, request) => actions(request).update(id, { name: name as string }),
    show,
  })

  changeSecrets(console, context, {
    section: '/suites',
    find: (id, request) => actions(request).show(id),
    show,
  })
}
