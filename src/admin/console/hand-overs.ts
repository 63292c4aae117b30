import type { HandOverLink } from '../../domain/secret.ts'
import { type Html, html } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { idOf } from '../wire/routing.ts'
import { age, section, table, time } from './components.ts'
import { idempotencyOf, redirectDone } from './forms.ts'
import { showPage } from './layout.ts'
import { assertNewSignIn } from './login.ts'
import { headBelow, type OwnerForms, type Owners } from './owner.ts'
import { copyable, overlapIn } from './secrets.ts'

/** Makes and withdraws links that show a new secret of an application once. */
export function changeHandOvers(onForm: OwnerForms, context: AdminContext, { parent }: Owners): void {
  onForm('hand-over-links', async ({ params: { id }, owner, base, request, reply, handOvers }) => {
    const { key, ...call } = idempotencyOf(request)
    // The two buttons of the form share one key.
    const repeatable = { idempotency: { key: `${key}-link`, ...call } }
    const overlap = overlapIn(request.body)
    if (overlap === 0) assertNewSignIn(context, request, base)
    const made = await handOvers.make(id, overlap, repeatable)
    return showPage(reply, {
      ...headBelow(parent, base, ['A hand-over link for ', owner.name]),
      content: html`<div class="secret" role="group" aria-label="New link" data-left="${base}">${copyable('link', 'Hand-over link', made.link)}<div><p><strong>Copy the link now</strong> and send it to the developer. When you leave this page, it cannot be shown again. It works once, until ${time(made.endsAt)}: the first person who uses it gets a new secret, and the page of the application shows when that was.</p></div></div>
<div class="buttons"><a class="button primary" href="${base}">Done</a></div>`,
    })
  })

  onForm('hand-over-links/:link_id/withdraw', async ({ params: { id, link_id }, base, reply, handOvers }) => {
    await handOvers.withdraw(id, idOf(link_id))
    return redirectDone(reply, base, 'link-withdrawn')
  })
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
