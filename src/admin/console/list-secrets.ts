import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { BrowsedSecret } from '../../administration/secrets.ts'
import { DAY } from '../../domain/usage.ts'
import { view } from '../../views/schema.ts'
import { OWNED_SECRET } from '../../views/secret.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { emptyState, name, pager, table } from './components.ts'
import { exportLinks, exportList } from './exports.ts'
import { many } from './figures.ts'
import { fieldsOf, select } from './forms.ts'
import { address, type Html, html, path } from './html.ts'
import { showPage } from './layout.ts'
import { SECRET_COLUMNS, secretCells } from './secrets.ts'

const PAGE_SIZE = 50

type Test = (secret: BrowsedSecret, now: number) => boolean

const FILTERS: { value: string; label: string; matches: Test }[] = [
  { value: '', label: 'All active ones', matches: () => true },
  {
    value: 'ending',
    label: 'Ending within 30 days',
    matches: ({ endsAt }, now) => (endsAt ?? Infinity) <= now + 30 * DAY,
  },
  { value: 'unused', label: 'Never used', matches: ({ lastUsedAt }) => lastUsedAt === null },
  { value: 'old', label: 'Older than a year', matches: ({ createdAt }, now) => createdAt < now - 365 * DAY },
]

const ORDERS: { value: string; label: string; rank: (secret: BrowsedSecret) => number }[] = [
  // Those that end: the first end first.
  { value: '', label: 'Default order', rank: ({ createdAt }) => createdAt },
  { value: 'age', label: 'Oldest first', rank: ({ createdAt }) => createdAt },
  { value: 'end', label: 'Ending first', rank: ({ endsAt }) => endsAt ?? Infinity },
  { value: 'use', label: 'Unused for longest', rank: ({ lastUsedAt }) => lastUsedAt ?? 0 },
]

/** /secrets: the secrets of all applications and suites, to find those that should be rotated or revoked. */
export function listSecrets(console: FastifyInstance, context: AdminContext): void {
  console.get('/secrets', async (request, reply) => {
    const { filter, matches, rank } = askedFor(request)
    const position = fieldsOf(request.query).text('from')
    const from = /^\d{1,9}$/.test(position) ? Number(position) : 0
    const { secrets } = administrationOf(context, request)
    const found = await secrets.browse({ matches, rank, from, limit: PAGE_SIZE })
    const following = address('/secrets', { ...filter, from: String(from + PAGE_SIZE) })
    const next = from + PAGE_SIZE < found.total ? following : undefined
    const rows = found.secrets.map((secret) => [ownerOf(secret), ...secretCells(secret, context.now())])
    const list = html`<p class="hint">${many(found.total, 'secret')} · ${exportLinks('/secrets', { show: filter.show })}</p>
${table('Secrets', ['Application or suite', ...SECRET_COLUMNS], rows)}${pager(from > 0 && address('/secrets', filter), next, ['First', 'Next'])}`
    return showPage(reply, {
      title: 'Secrets',
      section: '/secrets',
      lead: 'The secrets of all applications and suites, without their values. They are rotated and revoked on the pages of their owners.',
      content: html`<form class="filters" method="get" action="/secrets" aria-label="Filter the secrets">
${select({ label: 'Show', name: 'show', value: filter.show }, FILTERS)}
${select({ label: 'Sort by', name: 'sort', value: filter.sort }, ORDERS)}
<div class="buttons"><button class="button">Show</button>${Object.values(filter).join('') !== '' && html`<a class="button" href="/secrets">Clear</a>`}</div>
</form>${rows.length > 0 ? list : filter.show === '' ? emptyState('No secrets yet', html`<p>Each application and suite gets one when it is registered.</p>`) : emptyState('No matches', html`<p>No secret is like this.</p>`)}`,
    })
  })

  exportList(console, context, {
    path: '/secrets',
    list: 'secrets',
    row: OWNED_SECRET,
    async *pages(request) {
      const found = administrationOf(context, request).secrets.pages(askedFor(request).matches)
      for await (const page of found) yield page.map((secret) => view(OWNED_SECRET, secret))
    },
  })
}

/** What the page, or its file, is asked for. */
function askedFor({ query }: FastifyRequest) {
  const { text } = fieldsOf(query)
  const [show, sort] = [choiceIn(FILTERS, text('show')), choiceIn(ORDERS, text('sort'))]
  const { rank } = show.value === 'ending' && sort.value === '' ? choiceIn(ORDERS, 'end') : sort
  const matches: Test = (secret, now) => secret.state === 'active' && show.matches(secret, now)
  return { filter: { show: show.value, sort: sort.value }, matches, rank }
}

/** The choice with this value, or the first one. */
function choiceIn<Choice extends { value: string }>(choices: readonly Choice[], value: string): Choice {
  return choices.find((choice) => choice.value === value) ?? (choices[0] as Choice)
}

function ownerOf({ kind, owner, name: named }: BrowsedSecret): Html {
  const page = kind === 'application' ? path`/applications/${owner}` : path`/suites/${owner}`
  return html`<a href="${`${page}#secrets`}">${name(named)}</a><code title="${owner}">${owner}</code>${kind === 'suite' && html` <span class="hint">suite</span>`}`
}
