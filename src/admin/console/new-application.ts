import type { FastifyInstance } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { fieldsOf } from './fields.ts'
import { errorsOf, statusOf } from './form-errors.ts'
import { idempotencyOf, keyForRetry, newRequestKey } from './idempotency.ts'
import { type NewApplicationForm, newApplicationPage } from './new-application-page.ts'
import { showPage } from './page.ts'
import { registeredApplicationPage } from './registered-application-page.ts'
import { settingOf } from './settings.ts'
import { MAX_CHOICES } from './suite-choices.ts'
import { assertCanChange } from './viewers.ts'

/** /new-application: the form that registers an application. */
export function newApplication(console: FastifyInstance, context: AdminContext): void {
  const { store } = context
  const publicUrl = settingOf(context, 'PUBLIC_URL')

  console.get('/new-application', async (request, reply) => {
    assertCanChange(request)
    const suites = await store.listSuites({ limit: MAX_CHOICES })
    const ticked = suites.map(({ suiteId }) => suiteId)
    const form = { requestKey: newRequestKey(), name: '', developerEmail: '', clientId: '', suites: ticked }
    return showPage(reply, newApplicationPage({ form, suites, errors: [] }))
  })

  console.post('/new-application', async (request, reply) => {
    const form = formIn(request.body)
    const { name, developerEmail, clientId, suites } = form
    const { applications } = administrationOf(context, request)
    const registration = { name, developerEmail, suites: [...suites], clientId: clientId || undefined }
    try {
      const registered = await applications.register(registration, { idempotency: idempotencyOf(request) })
      return showPage(reply, registeredApplicationPage(registered, publicUrl))
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const errors = errorsOf(error, INPUTS)
      const refilled = { ...form, requestKey: keyForRetry(request, error) }
      const page = newApplicationPage({
        form: refilled,
        suites: await store.listSuites({ limit: MAX_CHOICES }),
        errors,
      })
      return showPage(reply, page, { status: statusOf(error) })
    }
  })
}

/** The inputs that show errors about a client id that is taken, and about suites. */
const INPUTS = { conflict: 'client_id', suites: 'suite' }

function formIn(body: unknown): NewApplicationForm {
  const fields = fieldsOf(body)
  return {
    requestKey: fields.text('request_key'),
    name: fields.text('name'),
    developerEmail: fields.text('developer_email'),
    clientId: fields.text('client_id'),
    suites: fields.all('suite'),
  }
}
