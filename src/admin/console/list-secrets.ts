import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { BrowsedSecret } from '../../administration/secrets.ts'
import { DAY } from '../../domain/usage.ts'
import { OWNED_SECRET } from '../../views/registry.ts'
import { view } from '../../views/schema.ts'
import { type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { emptyState, name } from './components.ts'
import { fieldsOf, select } from './forms.ts'
import { listPage, numberIn } from './list.ts'
import { SECRET_COLUMNS, secretCells } from './secrets.ts'

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

const ORDERS: { value: string; rank: (secret: BrowsedSecret) => number }[] = [
  { value: '', rank: ({ createdAt }) => createdAt },
  { value: 'age', rank: ({ createdAt }) => createdAt },
  { value: 'end', rank: ({ endsAt }) => endsAt ?? Infinity },
  { value: 'use', rank: ({ lastUsedAt }) => lastUsedAt ?? 0 },
]

const SORTS = { Created: ['age', 'ascending'], Ends: ['end', 'ascending'], 'Last used': ['use', 'ascending'] } as const

/** /secrets: the secrets of all applications and suites, to find those that should be rotated or revoked. */
export function listSecrets(console: FastifyInstance, context: AdminContext): void {
  listPage(console, context, {
    path: '/secrets',
    noun: 'secret',
    title: 'Secrets',
    lead: 'The secrets of all applications and suites, without their values. They are rotated and revoked on the pages of their owners.',
    caption: 'Secrets',
    columns: ['Application or suite', ...SECRET_COLUMNS],
    sorts: SORTS,
    cells: (secret: BrowsedSecret) => [ownerOf(secret), ...secretCells(secret, context.now())],
    pages: ['from', 'First', 'Next'],
    ask: async (_, request) => askedFor(request),
    async read({ secrets }, { matches, rank }, { after, limit }) {
      const { secrets: rows, total } = await secrets.browse({ matches, rank, from: numberIn(after) ?? 0, limit })
      return { rows, total }
    },
    form: {
      button: 'Show',
      kept: ({ sort }) => ({ ...(sort && { sort }) }),
      inputs: async ({ filter: { show } }) => [select({ label: 'Show', name: 'show', value: show }, FILTERS)],
    },
    empty: (_, { isNew }) =>
      isNew
        ? emptyState('No secrets yet', html`<p>Each application and suite gets one when it is registered.</p>`)
        : emptyState('No matches', html`<p>No secret matches.</p>`),
    file: { list: 'secrets', schema: OWNED_SECRET, view: (secret) => view(OWNED_SECRET, secret) },
    readAll: ({ secrets }, { matches }) => secrets.pages(matches),
  })
}

/** The query of the page, or of its file. */
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
  return html`<a href="${`${page}#secrets`}">${name(named)}</a> <code title="${owner}">${owner}</code>${kind === 'suite' && html` <span class="hint">suite</span>`}`
}
