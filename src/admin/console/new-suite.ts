import type { FastifyInstance } from 'fastify'
import type { RegisteredSuite } from '../../administration/suites.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { errorFor, type FieldError, field, formErrors, hidden } from './components/forms.ts'
import { name, note, section } from './components/words.ts'
import { credentialsPage, howToCheckTokens, urlsOf } from './credentials.ts'
import { assertCanChange, errorsOf, fieldsOf, idempotencyOf, keyForRetry, newRequestKey, statusOf } from './forms.ts'
import { html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'

/** The form, with what was typed. */
interface Form {
  requestKey: string
  suiteId: string
  name: string
}

const ABOVE = { href: '/suites', label: 'Suites' }

/** The input that shows errors about an id that is taken or invalid. */
const INPUTS = { conflict: 'suite_id', id: 'suite_id' }

/** /new-suite: the form that registers a suite. */
export function newSuite(console: FastifyInstance, context: AdminContext): void {
  const urls = urlsOf(context)

  console.get('/new-suite', async (request, reply) => {
    assertCanChange(request)
    return showPage(reply, newSuitePage({ requestKey: newRequestKey(), suiteId: '', name: '' }, []))
  })

  console.post('/new-suite', async (request, reply) => {
    const { text } = fieldsOf(request.body)
    const [suiteId, name] = [text('suite_id'), text('name')]
    const { suites } = administrationOf(context, request)
    try {
      const suite = await suites.register({ suiteId, name }, { idempotency: idempotencyOf(request) })
      return showPage(reply, registeredPage(suite, urls))
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const form = { requestKey: keyForRetry(request, error), suiteId, name }
      return showPage(reply, newSuitePage(form, errorsOf(error, INPUTS)), { status: statusOf(error) })
    }
  })
}

function newSuitePage({ requestKey, suiteId, name }: Form, errors: readonly FieldError[]): Page {
  return {
    title: 'Register a suite',
    section: '/suites',
    trail: [ABOVE],
    lead: 'A suite is an API that checks tokens, by itself or through a gateway. It gets a secret, which is shown once.',
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="/new-suite">${hidden({ request_key: requestKey })}
${field({ label: 'Id', name: 'suite_id', value: suiteId, isCode: true, required: true, autofocus: true, hint: 'Part of the address at which gateways check tokens. Letters, digits and - . _ ~ only. It cannot be changed later.', error: errorFor('suite_id', errors) })}
${field({ label: 'Name', name: 'name', value: name, required: true, error: errorFor('name', errors) })}
<div class="buttons"><button class="button primary">Register</button><a class="button" href="/suites">Cancel</a></div></form>`,
  }
}

/** Shows the credentials of a new suite, once. `notApproved`: the number of applications, none of which is approved yet. */
function registeredPage(suite: RegisteredSuite & { notApproved: number }, urls: ReturnType<typeof urlsOf>): Page {
  const { suiteId, clientSecret, notApproved } = suite
  return credentialsPage({
    title: `${suite.name} is registered`,
    heading: html`${name(suite.name)} is registered`,
    section: '/suites',
    trail: [ABOVE],
    clientId: suiteId,
    clientSecret,
    advice: 'It is needed for introspection, not for the gateway check.',
    content: html`${notApproved > 0 && note('warn', html`<p>No application is approved for it yet (there ${notApproved === 1 ? 'is 1' : `are ${notApproved.toLocaleString('en')}`}). Tick it under Approvals of each that may use it.</p>`)}
${section('gateway', 'How tokens are checked', howToCheckTokens({ suiteId, clientSecret, ...urls }))}
<div class="buttons"><a class="button primary" href="${path`/suites/${suiteId}`}">Go to the suite</a></div>`,
  })
}
