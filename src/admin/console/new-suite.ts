import type { FastifyInstance } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { fieldsOf } from './fields.ts'
import { errorsOf, statusOf } from './form-errors.ts'
import { idempotencyOf, keyForRetry, newRequestKey } from './idempotency.ts'
import { newSuitePage } from './new-suite-page.ts'
import { showPage } from './page.ts'
import { registeredSuitePage } from './registered-suite-page.ts'
import { settingOf } from './settings.ts'
import { assertCanChange } from './viewers.ts'

/** The input that shows errors about an id that is taken or invalid. */
const INPUTS = { conflict: 'suite_id', id: 'suite_id' }

/** /new-suite: the form that registers a suite. */
export function newSuite(console: FastifyInstance, context: AdminContext): void {
  const urls = { publicUrl: settingOf(context, 'PUBLIC_URL'), docsUrl: settingOf(context, 'DOCS_URL') }

  console.get('/new-suite', async (request, reply) => {
    assertCanChange(request)
    return showPage(reply, newSuitePage({ requestKey: newRequestKey(), suiteId: '', name: '' }, []))
  })

  console.post('/new-suite', async (request, reply) => {
    const fields = fieldsOf(request.body)
    const [suiteId, name] = [fields.text('suite_id'), fields.text('name')]
    const { suites } = administrationOf(context, request)
    try {
      const suite = await suites.register({ suiteId, name }, { idempotency: idempotencyOf(request) })
      return showPage(reply, registeredSuitePage({ suite, ...urls }))
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const form = { requestKey: keyForRetry(request, error), suiteId, name }
      return showPage(reply, newSuitePage(form, errorsOf(error, INPUTS)), { status: statusOf(error) })
    }
  })
}
