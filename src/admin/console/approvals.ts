import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApplicationNames } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { many } from '../../domain/text.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { redirectChanged } from './changed.ts'
import { name, note } from './components.ts'
import { allOrNone, type FieldError, fieldsOf, hidden } from './forms.ts'
import { type Page, showPage } from './layout.ts'
import { headBelow } from './owner.ts'
import { PARENT as SUITES } from './suites.ts'

/** How many applications are named at most, and without a click. */
const MAX_NAMED = 50
const MAX_SHOWN = 20

interface List {
  findMatching: (request: FastifyRequest) => Promise<ApplicationNames[]>
  showList: (request: FastifyRequest, reply: FastifyReply, errors: readonly FieldError[]) => Promise<FastifyReply>
}

/** Approves many applications for a suite, or withdraws their approvals, and can undo that. */
export function changeApprovals(
  console: FastifyInstance,
  context: AdminContext,
  { findMatching, showList }: List,
): void {
  console.post('/applications', async (request, reply) => {
    const { applications, suites } = administrationOf(context, request)
    const { all, text } = fieldsOf(request.body)
    if (text('undo')) return undo(request, reply)
    const id = text('target')
    const isApproval = text('change') === 'approve'
    const isAll = text('matching') === 'all'
    const ids = new Set(isAll ? (await findMatching(request)).map(({ clientId }) => clientId) : all('client_id'))
    if (ids.size === 0) {
      const message = 'Tick at least one application, and then choose what to do with it.'
      return showList(request, reply, [{ field: undefined, message }])
    }
    const approved = new Set((await applications.match({ suite: id })).map(({ clientId }) => clientId))
    const changing = isApproval ? ids.difference(approved) : ids.intersection(approved)
    const { size } = changing
    // Asks again if the number has changed since it was confirmed.
    const isConfirmed = text('confirmed') === String(size)
    const present = isConfirmed ? [] : await applications.match({})
    const named = present.filter(({ clientId }) => changing.has(clientId))
    const managed = named.filter(({ managedBy }) => managedBy !== '')
    // A single approval needs no confirmation.
    const isAsked = (size > (isApproval ? 1 : 0) && named.length > 0) || managed.length > 0
    if (isAsked && !isConfirmed) {
      // What was ticked on another page may have been removed since.
      const known = ids.intersection(new Set(present.map(({ clientId }) => clientId)))
      const which = isAll ? hidden({ matching: 'all' }) : [...known].flatMap((id) => hidden({ client_id: id }))
      const chosen = html`${hidden({ target: id, change: text('change'), confirmed: String(named.length) })}${which}`
      const content = html`${chosen}${managedHint(managed)}`
      return showPage(reply, question(await suites.show(id), request, isApproval, named, content))
    }
    return showChanged(request, reply, await suites.changeApprovals(id, [...ids], isApproval))
  })

  async function undo(request: FastifyRequest, reply: FastifyReply) {
    const { applications, suites, undoApprovals } = administrationOf(context, request)
    const { suite, changed, left } = await undoApprovals(Number(fieldsOf(request.body).text('undo')))
    if (left.length === 0) return showChanged(request, reply, changed)
    const named = left.slice(0, MAX_NAMED).map(async (clientId) => {
      return (await applications.find(clientId)) ?? { clientId, name: clientId }
    })
    const content = html`${note('warn', html`<p>Undone for ${many(changed.length, 'application')}. Left unchanged, because something else has changed them since: ${many(left.length, 'application')}.</p>${listOfNames(await Promise.all(named), left.length)}`)}
<div class="buttons"><a class="button" href="${listOf(request)}">Back to the list</a></div>`
    return showPage(reply, { ...headOf(await suites.show(suite)), lead: undefined, content })
  }

  async function showChanged(request: FastifyRequest, reply: FastifyReply, changed: readonly string[]) {
    return redirectChanged(context, reply, listOf(request), changed.length > 0)
  }
}

const listOf = ({ query }: FastifyRequest) => address('/applications', query as Record<string, string>)

export function headOf({ suiteId, name: named }: Suite) {
  return {
    ...headBelow(SUITES, path`/suites/${suiteId}`, ['Approvals for ', named]),
    lead: 'Tick applications, and approve them or withdraw their approvals. Tokens of an application are valid at a suite only while it is approved.',
    actions: undefined,
  } satisfies Partial<Page>
}

/**
 * The form around a list, for the suite `target` or one of the `choices`. `count` is how many match, or false if all are on this
 * page. ticks.js keeps what is ticked on other pages.
 */
export function approvalForm(
  { target, choices }: { target: Suite | undefined; choices: readonly Suite[] },
  filter: Record<string, string>,
  count: number | false,
  list: Html,
): Html {
  const others =
    count !== false &&
    html`<label class="choice"><input type="checkbox" name="matching" value="all"><span>All that match, on all pages: ${many(count, 'application')}</span></label>`
  const named = choices.map(({ suiteId, name }) => html`<option value="${suiteId}">${name}</option>`)
  const suite = target
    ? hidden({ target: target.suiteId })
    : html`<select name="target" aria-label="Suite" required><option value="">For which suite?</option>${named}</select>`
  return html`<form class="edit" method="post" action="${address('/applications', filter)}" data-ticks="${target?.suiteId ?? ''}">
<div class="parts" data-checks>${list}</div>
<div class="buttons"><output data-ticked hidden></output>${allOrNone('Untick')}${others}${suite}<button class="button${target && ' primary'}" name="change" value="approve">Approve</button><button class="button danger-quiet" name="change" value="withdraw">Withdraw approval…</button></div></form>`
}

function managedHint(managed: readonly ApplicationNames[]): Html | undefined {
  if (managed.length === 0) return
  const files = new Intl.ListFormat('en').format(new Set(managed.map(({ managedBy }) => managedBy)))
  return note(
    'warn',
    html`<p>${name(files)} may undo this for ${many(managed.length, 'application')}: change it there, too.</p>`,
  )
}

function listOfNames(first: readonly Pick<ApplicationNames, 'clientId' | 'name'>[], count: number): Html {
  const links = first.map(({ clientId, name: named }) => {
    return html`<li><a href="${path`/applications/${clientId}`}">${name(named)}</a> <code>${clientId}</code></li>`
  })
  return html`<ul>${links}</ul>${count > first.length && html`<p>And ${count - first.length} more.</p>`}`
}

/** Asks before applications are changed. `chosen` has the fields of the form. */
function question(
  suite: Suite,
  request: FastifyRequest,
  isApproval: boolean,
  changing: readonly ApplicationNames[],
  chosen: Html,
): Page {
  const [these, where] = [many(changing.length, 'application'), name(suite.name)]
  const names = listOfNames(changing.slice(0, MAX_NAMED), changing.length)
  const listed = changing.length > MAX_SHOWN ? html`<details><summary>Which ones</summary>${names}</details>` : names
  const [asked, button] = isApproval
    ? [
        html`Approve ${these} for ${where}? Their tokens are valid there from the next check on.`,
        html`<button class="button primary">Approve ${these}</button>`,
      ]
    : [
        html`Withdraw the approval of ${these} for ${where}? Their requests are refused there from the next check on.`,
        html`<button class="button danger">Withdraw approval</button>`,
      ]
  const content = html`<form class="panel form" method="post" action="${request.url}">${chosen}<div class="consequences"><p>${asked} You can undo it afterwards.</p>${listed}</div>
<div class="buttons">${button}<a class="button" href="${listOf(request)}">Cancel</a></div></form>`
  return { ...headOf(suite), lead: undefined, content }
}
