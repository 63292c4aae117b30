import type { FastifyInstance } from 'fastify'
import { type ListedSuite, MANY_APPROVED, type RegisteredSuite } from '../../administration/suites.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { badge, emptyState, name, note, number, pagerFromOldest, section, table, time } from './components.ts'
import {
  assertCanChange,
  canChange,
  errorFor,
  errorsOf,
  type FieldError,
  field,
  fieldsOf,
  formErrors,
  hidden,
  idempotencyOf,
  keyForRetry,
  newRequestKey,
  statusOf,
} from './forms.ts'
import { type Html, html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'
import { credentialsPage, howToCheckTokens, urlsOf } from './secrets.ts'
import { ABOVE } from './suite.ts'

const PAGE_SIZE = 50

const COLUMNS = ['Suite', 'Id', 'Secrets', 'Registered', number('Approved applications')] as const

const REGISTER = html`<a class="button primary" href="/new-suite">Register a suite</a>`

/** /suites: the list, oldest first. */
export function listSuites(console: FastifyInstance, context: AdminContext): void {
  console.get('/suites', async (request, reply) => {
    const after = fieldsOf(request.query).text('after') || undefined
    const { suites } = administrationOf(context, request)
    const { rows, next } = await suites.listPage({ after, limit: PAGE_SIZE })
    const isEmpty = after === undefined && rows.length === 0
    const pages = { first: after && '/suites', next: next && `/suites?${new URLSearchParams({ after: next })}` }
    return showPage(reply, {
      title: 'Suites',
      section: '/suites',
      lead: 'APIs that check tokens, by themselves or through a gateway. A token is valid only at the suites that its application is approved for.',
      actions: canChange(request) && !isEmpty && REGISTER,
      content: isEmpty
        ? nothingYet(canChange(request))
        : html`${table('Suites, oldest first', COLUMNS, rows.map(row))}${pagerFromOldest(pages)}`,
    })
  })
}

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'There are no suites yet',
    html`<p>A suite is an API that checks tokens. As long as there are none, the tokens of every application are valid wherever they are checked.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

function row({ suiteId, name: named, secrets, createdAt, approved }: ListedSuite) {
  return [
    html`<a href="${path`/suites/${suiteId}`}">${name(named)}</a>`,
    html`<code>${suiteId}</code>`,
    secretsOf(secrets),
    time(createdAt),
    `${approved.toLocaleString('en')}${approved === MANY_APPROVED ? ' or more' : ''}`,
  ]
}

function secretsOf(secrets: ListedSuite['secrets']): Html {
  const active = secrets.filter(({ state }) => state === 'active')
  if (active.length === 0) return badge('none active', 'bad')
  const endless = active.some(({ endsAt }) => endsAt === null)
  return endless ? badge(`${active.length} active`, 'good') : badge(`${active.length} active, ends`, 'warn')
}

/** The form, with what was typed. */
interface Form {
  requestKey: string
  suiteId: string
  name: string
}

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
