import type { FastifyInstance } from 'fastify'
import type { HandOverLink } from '../../domain/secret.ts'
import { type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { idOf } from '../wire/routing.ts'
import { age, section, table, time } from './components.ts'
import { idempotencyOf, redirectDone, refusedFor } from './forms.ts'
import { showPage } from './layout.ts'
import { assertNewSignIn } from './login.ts'
import { headBelow, type Owners } from './owner.ts'
import { copyable, overlapIn } from './secrets.ts'

/** Makes and withdraws links that show a new secret of an application once. */
export function changeHandOvers(console: FastifyInstance, context: AdminContext, { parent, find, show }: Owners): void {
  const section = parent.href
  console.post<{ Params: { id: string } }>(`${section}/:id/hand-over-links`, async (request, reply) => {
    const { id } = request.params
    const owner = await find(id, request)
    const base = `${section}${path`/${id}`}`
    const { key, ...call } = idempotencyOf(request)
    try {
      // The two buttons of the form share one key.
      const repeatable = { idempotency: { key: `${key}-link`, ...call } }
      const overlap = overlapIn(request.body)
      if (overlap === 0) assertNewSignIn(context, request, base)
      const made = await administrationOf(context, request).handOvers.make(id, overlap, repeatable)
      return showPage(reply, {
        ...headBelow(parent, base, ['A hand-over link for ', owner.name]),
        content: html`<div class="secret" role="group" aria-label="New link" data-left="${base}">${copyable('link', 'Hand-over link', made.link)}<div><p><strong>Copy the link now</strong> and send it to the developer. When you leave this page, it cannot be shown again. It works once, until ${time(made.endsAt)}: the first person who uses it gets a new secret, and the page of the application shows when that was.</p></div></div>
<div class="buttons"><a class="button primary" href="${base}">Done</a></div>`,
      })
    } catch (error) {
      return show(id, reply, refusedFor(error))
    }
  })

  console.post<{ Params: { id: string; link_id: string } }>(
    `${section}/:id/hand-over-links/:link_id/withdraw`,
    async (request, reply) => {
      const { id, link_id } = request.params
      await administrationOf(context, request).handOvers.withdraw(id, idOf(link_id))
      return redirectDone(reply, `${section}${path`/${id}`}`, 'link-withdrawn')
    },
  )
}

const COLUMNS = ['Link', 'Made', 'Ends', 'Other secrets stay valid']

/** The links of an application that are not used yet. Undefined if there are none. */
export function handOversPanel(
  base: string,
  links: readonly HandOverLink[],
  { canChange, now }: { canChange: boolean; now: number },
): Html | undefined {
  const unused = links.filter(({ endsAt }) => endsAt > now)
  if (unused.length === 0) return
  const rows = unused.map(({ id, madeBy, createdAt, endsAt, overlapSeconds }) => [
    id,
    html`${age(createdAt, now)} <span class="hint">by <bdi>${madeBy}</bdi></span>`,
    time(endsAt),
    overlapSeconds === 0 ? 'not at all' : `${(overlapSeconds / 3600).toLocaleString('en')} h after its use`,
    html`<form method="post" action="${`${base}/hand-over-links/${id}/withdraw`}"><button class="button">Withdraw<span class="unseen"> link ${id}</span></button></form>`,
  ])
  const content = table('Unused hand-over links', COLUMNS, rows, canChange && 'Withdraw')
  return section('hand-overs', 'Unused hand-over links', content)
}
