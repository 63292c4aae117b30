import type { FastifyInstance, FastifyRequest } from 'fastify'
import { firstOf, type Order } from '../../administration/pages.ts'
import type { BrowsedSecret } from '../../administration/secrets.ts'
import { DAY } from '../../domain/usage.ts'
import { OWNED_SECRET } from '../../views/registry.ts'
import { view } from '../../views/schema.ts'
import { type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { emptyState, facts, name, time } from './components.ts'
import { fieldsOf } from './forms.ts'
import { type Details, listPage, numberIn, type Opener } from './list.ts'
import { rules, SECRET_COLUMNS, secretCells } from './secrets.ts'

type Test = (secret: BrowsedSecret, now: number) => boolean

const isActive = ({ state }: BrowsedSecret) => state === 'active'

function endsWithin(days: number): Test {
  return ({ endsAt }, now) => (endsAt ?? Infinity) <= now + days * DAY
}

const FILTERS: { value: string; label: string; matches: Test }[] = [
  { value: '', label: 'All active ones', matches: () => true },
  { value: 'soon', label: 'Ending within 7 days', matches: endsWithin(7) },
  { value: 'ending', label: 'Ending within 30 days', matches: endsWithin(30) },
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
    cells(secret: BrowsedSecret, _: unknown, open: Opener) {
      const [named, ...cells] = secretCells(secret, context.now())
      return [ownerOf(secret), open(secret.id, named), ...cells]
    },
    details: async (id, { secrets }) => secretDetails(await secrets.find(numberIn(id) ?? 0), context.now()),
    pages: 'from',
    views: ['show', FILTERS.map(({ value, label }) => [value, label])],
    ask: async (_, request) => askedFor(request),
    async read({ secrets }, { show, rank }, { after, limit }) {
      const [from, now] = [numberIn(after) ?? 0, context.now()]
      const counts: Record<string, number> = {}
      let rows: BrowsedSecret[] = []
      // The difference of two infinite ranks is NaN.
      const order: Order<BrowsedSecret> = (one, other) => rank(one) - rank(other) || 0
      for await (const step of secrets.pages(isActive)) {
        for (const one of FILTERS) {
          const shown = step.filter((secret) => one.matches(secret, now))
          counts[one.value] = (counts[one.value] ?? 0) + shown.length
          if (one === show) rows = firstOf(rows, shown, order, from + limit)
        }
      }
      return { rows: rows.slice(from), total: counts[show.value], counts }
    },
    empty: (_, { isNew }) =>
      isNew
        ? emptyState('No secrets yet', html`<p>Each application and suite gets one when it is registered.</p>`)
        : emptyState('No matches', html`<p>No secret matches.</p>`),
    file: { list: 'secrets', schema: OWNED_SECRET, view: (secret) => view(OWNED_SECRET, secret) },
    readAll: ({ secrets }, { show }) => secrets.pages((secret, now) => isActive(secret) && show.matches(secret, now)),
  })
}

function askedFor({ query }: FastifyRequest) {
  const { text } = fieldsOf(query)
  const [show, sort] = [choiceIn(FILTERS, text('show')), choiceIn(ORDERS, text('sort'))]
  const isByEnd = ['soon', 'ending'].includes(show.value) && sort.value === ''
  const { rank } = isByEnd ? choiceIn(ORDERS, 'end') : sort
  return { filter: { show: show.value, sort: sort.value }, show, rank }
}

function choiceIn<Choice extends { value: string }>(choices: readonly Choice[], value: string): Choice {
  return choices.find((choice) => choice.value === value) ?? (choices[0] as Choice)
}

function secretDetails(secret: BrowsedSecret | undefined, now: number): Details {
  if (!secret)
    return {
      heading: 'No such secret',
      content: html`<p>It was deleted with its owner, or by a rotation more than 30 days after its end.</p>`,
    }
  const [named, ...cells] = secretCells(secret, now)
  const rows = SECRET_COLUMNS.slice(1).map(({ label }, n) => [label, cells[n]] as const)
  const revoked = secret.revokedAt !== null && (['Revoked', time(secret.revokedAt)] as const)
  return {
    heading: html`<span>${named}</span>`,
    content: html`<div class="panel">${facts([['Owner', ownerOf(secret)], ...rows, revoked])}${rules([secret])}
<div class="buttons"><a class="button" href="${`${pageOf(secret)}#secrets`}">Rotate or revoke it</a></div></div>`,
  }
}

function pageOf({ kind, owner }: BrowsedSecret): string {
  return kind === 'application' ? path`/applications/${owner}` : path`/suites/${owner}`
}

function ownerOf(secret: BrowsedSecret): Html {
  const { kind, owner, name: named } = secret
  return html`<a href="${`${pageOf(secret)}#secrets`}">${name(named)}</a> <code title="${owner}">${owner}</code>${kind === 'suite' && html` <span class="hint">suite</span>`}`
}
