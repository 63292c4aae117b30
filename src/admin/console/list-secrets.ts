import type { FastifyInstance } from 'fastify'
import { contains } from '../../administration/search.ts'
import type { BrowsedSecret } from '../../administration/secrets.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { emptyState, name, pager, table } from './components.ts'
import { field, fieldsOf, select } from './forms.ts'
import { address, type Html, html, path } from './html.ts'
import { showPage } from './layout.ts'
import { SECRET_COLUMNS, secretCells } from './secrets.ts'

const PAGE_SIZE = 50

const DAY = 24 * 60 * 60 * 1000

type Test = (secret: BrowsedSecret, now: number) => boolean

/** Which secrets to show, by the `show` of the URL. Those that ended are shown only if they are asked for. */
const FILTERS: Record<string, { label: string; matches: Test }> = {
  '': { label: 'Active', matches: () => true },
  ending: { label: 'Ending within 30 days', matches: ({ endsAt }, now) => endsAt !== null && endsAt <= now + 30 * DAY },
  unused: { label: 'Never used', matches: ({ lastUsedAt }) => lastUsedAt === null },
  old: { label: 'Older than a year', matches: ({ createdAt }, now) => createdAt < now - 365 * DAY },
  imported: { label: 'Imported', matches: ({ origin }) => origin === 'imported' },
  ended: { label: 'Expired or revoked', matches: () => true },
}

/** By the `sort` of the URL. */
const ORDERS: Record<string, { label: string; rank: (secret: BrowsedSecret) => number }> = {
  '': { label: 'Oldest first', rank: ({ createdAt }) => createdAt },
  end: { label: 'Ending first', rank: ({ endsAt }) => endsAt ?? Infinity },
  use: { label: 'Unused for longest', rank: ({ lastUsedAt }) => lastUsedAt ?? 0 },
}

/** /secrets: the secrets of all applications and suites, to find those that should be rotated or revoked. */
export function listSecrets(console: FastifyInstance, context: AdminContext): void {
  console.get('/secrets', async (request, reply) => {
    const { text } = fieldsOf(request.query)
    const filter = { search: text('search'), show: text('show'), sort: text('sort') }
    const from = /^\d{1,9}$/.test(text('from')) ? Number(text('from')) : 0
    const { secrets } = administrationOf(context, request)
    const found = await secrets.browse({
      matches: testOf(filter),
      rank: (ORDERS[filter.sort] ?? ORDERS[''])?.rank ?? (() => 0),
      from,
      limit: PAGE_SIZE,
    })
    const following = address('/secrets', { ...filter, from: String(from + PAGE_SIZE) })
    const next = from + PAGE_SIZE < found.total ? following : undefined
    const rows = found.secrets.map((secret) => [ownerOf(secret), ...secretCells(secret, context.now())])
    const list = html`<p class="hint">${found.total.toLocaleString('en')} ${found.total === 1 ? 'secret' : 'secrets'}</p>
${table('Secrets', ['Application or suite', ...SECRET_COLUMNS], rows)}${pager(from > 0 && address('/secrets', filter), next, ['First', 'Next'])}`
    return showPage(reply, {
      title: 'Secrets',
      section: '/secrets',
      lead: 'The secrets of all applications and suites, without their values. They are rotated and revoked on the pages of their owners.',
      content: html`<form class="filters" method="get" action="/secrets" role="search">
${field({ label: 'Search', name: 'search', type: 'search', value: filter.search, placeholder: 'Name or id of the owner' })}
${select({ label: 'Show', name: 'show', value: filter.show }, choicesOf(FILTERS))}
${select({ label: 'Sort by', name: 'sort', value: filter.sort }, choicesOf(ORDERS))}
<div class="buttons"><button class="button">Search</button>${Object.values(filter).join('') !== '' && html`<a class="button" href="/secrets">Clear</a>`}</div>
</form>${rows.length > 0 ? list : emptyState('No matches', html`<p>No secret is like this.</p>`)}`,
    })
  })
}

function testOf({ search, show }: { search: string; show: string }): Test {
  const { matches } = FILTERS[show] ?? { matches: () => false }
  return (secret, now) =>
    (secret.state === 'active') === (show !== 'ended') &&
    matches(secret, now) &&
    (contains(secret.name, search) || contains(secret.owner, search))
}

function choicesOf(choices: Readonly<Record<string, { label: string }>>) {
  return Object.entries(choices).map(([value, { label }]) => ({ value, label }))
}

function ownerOf({ kind, owner, name: named }: BrowsedSecret): Html {
  const page = kind === 'application' ? path`/applications/${owner}` : path`/suites/${owner}`
  return html`<a href="${`${page}#secrets`}">${name(named)}</a><code title="${owner}">${owner}</code>${kind === 'suite' && html` <span class="hint">suite</span>`}`
}
