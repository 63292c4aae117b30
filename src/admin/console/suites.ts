import type { FastifyInstance } from 'fastify'
import { type ListedSuite, MANY_APPROVED } from '../../administration/suite-pages.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { pagerFromOldest, table } from './components/table.ts'
import { badge, emptyState, name, time } from './components/words.ts'
import { canChange, fieldsOf } from './forms.ts'
import { type Html, html, path } from './html.ts'
import { showPage } from './layout.ts'

const PAGE_SIZE = 50

const COLUMNS = [
  { label: 'Suite' },
  { label: 'Id' },
  { label: 'Secrets' },
  { label: 'Registered' },
  { label: 'Approved applications', kind: 'number' },
] as const

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
