import { type ListedSuite, MANY_APPROVED } from '../../administration/suite-pages.ts'
import { pagerFromOldest, table } from './components/table.ts'
import { badge, emptyState, name, time } from './components/words.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'

interface Suites {
  suites: readonly ListedSuite[]
  next: string | undefined
  isFirst: boolean
  canChange: boolean
}

const COLUMNS = [
  { label: 'Suite' },
  { label: 'Id' },
  { label: 'Secrets' },
  { label: 'Registered' },
  { label: 'Approved applications', kind: 'number' },
] as const

const REGISTER = html`<a class="button primary" href="/new-suite">Register a suite</a>`

/** The suites, oldest first. */
export function suitesPage({ suites, next, isFirst, canChange }: Suites): Page {
  const isEmpty = isFirst && suites.length === 0
  return {
    title: 'Suites',
    section: '/suites',
    lead: 'APIs that check tokens, by themselves or through a gateway. A token is valid only at the suites that its application is approved for.',
    actions: canChange && !isEmpty && REGISTER,
    content: isEmpty
      ? nothingYet(canChange)
      : html`${table('Suites, oldest first', COLUMNS, suites.map(row))}${pagerFromOldest({
          first: isFirst ? undefined : '/suites',
          next: next && `/suites?${new URLSearchParams({ after: next })}`,
        })}`,
  }
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
