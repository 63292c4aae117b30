import type { FastifyInstance } from 'fastify'
import type { RegisteredApplication } from '../../administration/applications.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { Suite } from '../../domain/suite.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { listChoices, suiteChoices } from './approvals.ts'
import { errorFor, type FieldError, field, formErrors, hidden } from './components/forms.ts'
import { name, note } from './components/words.ts'
import { credentialsPage, tryIt, urlsOf } from './credentials.ts'
import { assertCanChange, errorsOf, fieldsOf, idempotencyOf, keyForRetry, newRequestKey, statusOf } from './forms.ts'
import { html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'

/** The form, with what was typed. */
interface Form {
  requestKey: string
  name: string
  developerEmail: string
  clientId: string
  /** The ids of the suites that are ticked. */
  suites: string[]
}

const ABOVE = { href: '/applications', label: 'Applications' }

/** The inputs that show errors about a client id that is taken, and about suites. */
const INPUTS = { conflict: 'client_id', suites: 'suite' }

/** /new-application: the form that registers an application. */
export function newApplication(console: FastifyInstance, context: AdminContext): void {
  const { publicUrl } = urlsOf(context)

  console.get('/new-application', async (request, reply) => {
    assertCanChange(request)
    const suites = await listChoices(context)
    const ticked = suites.map(({ suiteId }) => suiteId)
    const form = { requestKey: newRequestKey(), name: '', developerEmail: '', clientId: '', suites: ticked }
    return showPage(reply, newApplicationPage(form, suites, []))
  })

  console.post('/new-application', async (request, reply) => {
    const form = formIn(request.body)
    const { applications } = administrationOf(context, request)
    const { name, developerEmail, clientId, suites } = form
    const registration = { name, developerEmail, suites, clientId: clientId || undefined }
    try {
      const registered = await applications.register(registration, { idempotency: idempotencyOf(request) })
      return showPage(reply, registeredPage(registered, publicUrl))
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const refilled = { ...form, requestKey: keyForRetry(request, error) }
      const page = newApplicationPage(refilled, await listChoices(context), errorsOf(error, INPUTS))
      return showPage(reply, page, { status: statusOf(error) })
    }
  })
}

function formIn(body: unknown): Form {
  const { text, all } = fieldsOf(body)
  return {
    requestKey: text('request_key'),
    name: text('name'),
    developerEmail: text('developer_email'),
    clientId: text('client_id'),
    suites: all('suite'),
  }
}

/** `suites`: all that can be ticked. */
function newApplicationPage(form: Form, suites: readonly Suite[], errors: readonly FieldError[]): Page {
  const { requestKey, name, developerEmail, clientId } = form
  const error = (name: string) => errorFor(name, errors)
  return {
    title: 'Register an application',
    section: '/applications',
    trail: [ABOVE],
    lead: 'Register each program of a partner as an application. It gets a client id and a secret, which is shown once.',
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="/new-application">${hidden({ request_key: requestKey })}
${field({ label: 'Name', name: 'name', value: name, hint: 'APIs see it as application_name when they check its tokens.', required: true, autofocus: true, error: error('name') })}
${field({ label: 'Developer email', name: 'developer_email', type: 'email', value: developerEmail, hint: 'Whom to contact. APIs see it as developer.email.', required: true, error: error('developer_email') })}
${
  suites.length === 0
    ? html`<p class="hint">There are no suites yet. You can approve it for suites later.</p>`
    : suiteChoices(suites, form.suites, error('suite'))
}
<details${clientId !== '' && html` open`}><summary>Use an existing client id</summary>
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'The one that it has on another server. The secret is new in any case.', error: error('client_id') })}</details>
<div class="buttons"><button class="button primary">Register</button><a class="button" href="/applications">Cancel</a></div></form>`,
  }
}

/** Shows the credentials of a new application, once. `publicUrl`: the URL at which clients reach this server. */
function registeredPage(
  { clientId, clientSecret = '', name: named, suites }: RegisteredApplication & { suites: readonly string[] },
  publicUrl: string,
): Page {
  return credentialsPage({
    title: `${named} is registered`,
    heading: html`${name(named)} is registered`,
    section: '/applications',
    trail: [ABOVE],
    clientId,
    clientSecret,
    advice: 'Send both to the developer in a safe way. If the secret is lost, rotate it to get a new one.',
    content: html`${suites.length === 0 && note('warn', html`<p>It is not approved for any suite yet, so its tokens are not valid anywhere.</p>`)}
${tryIt({ clientId, clientSecret, suites, publicUrl })}
<div class="buttons"><a class="button primary" href="${path`/applications/${clientId}`}">Go to the application</a><a class="button" href="/new-application">Register another one</a></div>`,
  })
}
