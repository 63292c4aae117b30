import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { Repeatable } from '../../administration/idempotency.ts'
import {
  APPLICATION_COLUMNS,
  type Application,
  columnsOf,
  LIMITS,
  LIST_COLUMNS,
  labelsIn,
  labelTexts,
  OPTIONAL_COLUMNS,
} from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { camelCased } from '../../domain/text.ts'
import { type Html, html, type Part, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { redirectChanged } from './changed.ts'
import { help, labelLinks, links, name, note, section, sentence, time, words } from './components.ts'
import {
  assertCanChange,
  assertNameTyped,
  type FieldError,
  type FieldState,
  field,
  fieldsOf,
  formErrors,
  hidden,
  idempotencyOf,
  newRequestKey,
  type Refused,
  refusedFor,
  select,
  statesOf,
  textarea,
  typedName,
} from './forms.ts'
import { type Page, showPage } from './layout.ts'
import { assertNewSignIn } from './login.ts'

// What the pages of applications and suites have in common.

/** The functions that find, change and show one kind of client: applications or suites. */
export interface Owners {
  parent: List
  /** Throws OperatorError if the id does not exist, or belongs to the other kind. */
  find: (id: string, request: FastifyRequest) => Promise<Owner>
  /** Changes these values, and whatever else the form has. Resolves to true if anything differed. Throws OperatorError. */
  update: (id: string, changes: Changes, request: FastifyRequest) => Promise<boolean>
  remove: (id: string, request: FastifyRequest) => Promise<unknown>
  /** What stops working after a removal. */
  consequencesOf: (owner: Owner, request: FastifyRequest) => Promise<Part>
  show: (id: string, reply: FastifyReply, refused: Refused) => Promise<FastifyReply>
  /** A quota for the form of changes, if its address asks for one, and what is said of it. */
  proposes?: (owner: Owner) => Record<'quota' | 'hint', string>
  /** What the form contains in addition to the values. */
  inputs?: (owner: Owner, request: FastifyRequest, stateOf: (name: string) => FieldState) => Promise<Part>
}

type Owner = Application | Suite

/** The inputs of a form, by their names: the JSON names of what an operator may change. */
type Values = Readonly<Record<string, string>>

/** Changed values, by their names in domain/, not checked yet. */
export type Changes = Readonly<Record<string, unknown>>

function valuesOf(owner: Owner): Values {
  const annotations = { labels: labelTexts(owner.labels).join('\n'), ...optionalTexts(owner) }
  if (!('quota' in owner)) return { name: owner.name, ...annotations }
  return {
    ...columnsOf(owner),
    ...annotations,
    quota: String(owner.quota ?? ''),
    source_addresses: owner.sourceAddresses.join('\n'),
    public_labels: owner.publicLabels.join('\n'),
    report_only: LIMITS.filter((limit) => owner.reportOnly.includes(limit)).join(' '),
  }
}

function optionalTexts(owner: Owner): Values {
  return 'quota' in owner
    ? columnsOf(owner, OPTIONAL_COLUMNS)
    : { url: owner.url, note: owner.note, managed_by: owner.managedBy }
}

export function changesIn({ labels, quota, ...values }: Values): Changes {
  const lines = labels?.split('\n').filter((line) => line.trim() !== '')
  const lists = LIST_COLUMNS.filter((name) => values[name] !== undefined)
  const items = lists.map((name) => [name, values[name]?.split(/\s+/).filter(Boolean)])
  return {
    ...camelCased({ ...values, ...Object.fromEntries(items) }),
    ...(lines && { labels: labelsIn(lines) }),
    ...(quota !== undefined && { quota: quota === '' ? null : Number(quota) }),
  }
}

interface SentForm extends Administration {
  params: Record<'id' | 'secret_id' | 'link_id', string>
  owner: Owner
  /** The path of its page. */
  base: string
  request: FastifyRequest
  reply: FastifyReply
}

/** Returns a function that handles a form on the pages of clients, at `place` below each. The page shows why it is refused. */
export function ownerForms(console: FastifyInstance, context: AdminContext, { parent, find, show }: Owners) {
  return (
    place: string,
    change: (form: SentForm) => Promise<FastifyReply>,
    inputs?: Readonly<Record<string, string>>,
  ) => {
    console.post<{ Params: SentForm['params'] }>(`${parent.href}/:id/${place}`, async (request, reply) => {
      const { params } = request
      const owner = await find(params.id, request)
      const base = `${parent.href}${path`/${params.id}`}`
      try {
        return await change({ ...administrationOf(context, request), params, owner, base, request, reply })
      } catch (error) {
        return show(params.id, reply, refusedFor(error, inputs))
      }
    })
  }
}

export type OwnerForms = ReturnType<typeof ownerForms>

/** The head of a page about an application or a suite, whose own page is at `base`. `words` is the title, with its name. */
export function headBelow(parent: List, base: string, [before, named, after = '']: readonly [string, string, string?]) {
  return {
    title: `${before}${named}${after}`,
    heading: html`<span>${before}${name(named)}${after}</span>`,
    section: parent.href,
    trail: [parent, { href: base, label: name(named) }],
  }
}

/** The notes at the top of a page: why the last form was refused, and why viewers see no buttons. */
export function notes(errors: readonly FieldError[], canChange: boolean): Html {
  return html`${formErrors(errors)}
${!canChange && note('quiet', html`<p>You are a viewer: you can see everything, but change nothing.</p>`)}`
}

/** The form that changes values. It stores only what was edited, and nothing if others changed that meanwhile. */
export function changeNames(console: FastifyInstance, context: AdminContext, owners: Owners): void {
  const { parent, find, update, inputs, proposes } = owners
  const section = parent.href

  async function edit(id: string, reply: FastifyReply, { errors, status }: Refused) {
    const { request } = reply
    const owner = await find(id, request)
    const base = `${section}${path`/${id}`}`
    const proposed = fieldsOf(request.query).text('propose') === 'quota' ? proposes?.(owner) : undefined
    const stateOf = statesOf(errors, proposed ? 'quota' : 'name')
    const page: Page = {
      ...headBelow(parent, base, ['Edit ', owner.name]),
      content: html`${formErrors(errors)}
<form class="edit" method="post" action="${base}" data-guard="${errors.length > 0 && 'changed'}"><div class="columns">${namesPanel(owner, proposed ?? request.body, stateOf, proposed?.hint)}
${await inputs?.(owner, request, stateOf)}</div>
<div class="buttons"><button class="button primary">Save</button><a class="button" href="${base}">Cancel</a></div></form>`,
    }
    return showPage(reply, page, { status })
  }

  console.get<{ Params: { id: string } }>(`${section}/:id/edit`, async (request, reply) => {
    assertCanChange(request)
    return edit(request.params.id, reply, { errors: [], status: 200 })
  })

  console.post<{ Params: { id: string } }>(`${section}/:id`, async (request, reply) => {
    const { id } = request.params
    const owner = await find(id, request)
    const sent = sentFor(owner, request.body)
    const errors = sent.flatMap(({ name, stored, isConflict }) => (isConflict ? changedByOthers(name, stored) : []))
    if (errors.length > 0) return edit(id, reply, { errors, status: 409 })
    try {
      const edited = sent.filter(({ isEdited }) => isEdited).map(({ name, value }) => [name, value])
      const changed = await update(id, changesIn(Object.fromEntries(edited)), request)
      return redirectChanged(context, reply, `${section}${path`/${id}`}`, changed)
    } catch (error) {
      return edit(id, reply, refusedFor(error, { 'not found': 'suite' }))
    }
  })
}

function changedByOthers(field: string, stored: string): FieldError {
  const message = html`${sentence(field)}: someone else has changed it to ${name(stored)} in the meantime. Save again to overwrite it.`
  return { field, message }
}

/** The values in a sent form. Texts are trimmed when they are read, so the shown value must be, too. */
export function sentFor(owner: Owner, body: unknown) {
  const { all, text } = fieldsOf(body)
  return Object.entries(valuesOf(owner)).map(([name, stored]) => {
    const [shown = stored] = all(`shown_${name}`)
    const isEdited = all(name).length > 0 && text(name) !== shown.trim()
    const value = isEdited ? text(name) : stored
    return { name, value, stored, isEdited, isConflict: stored !== shown && stored !== value }
  })
}

export function withContents(content: Html): Html {
  const headings = [...content.text.matchAll(/<h2 id="([\w-]+)">([^<]+)/g)]
  const contents = headings.map(([, id, heading = '']) => [`#${id}`, heading] as const)
  return html`<div class="long">${links('contents', 'On this page', contents)}<div class="parts">${content}</div></div>`
}

/** The inputs for values, filled from `body` if given. They also send the stored values: others may change them. */
function namesPanel(owner: Owner, body: unknown, stateOf: (name: string) => FieldState, ofQuota?: string): Html {
  const fields = sentFor(owner, body)
  const content = html`<div class="form">
${fields.map(({ name, stored }) => hidden({ [`shown_${name}`]: stored }))}
${fields.map(({ name, value }) => input(name, value, stateOf, name === 'quota' && ofQuota))}</div>`
  return section('names', 'Details', content)
}

const REQUIRED: readonly string[] = APPLICATION_COLUMNS

const LONG = ['labels', 'note', 'source_addresses', 'public_labels']

const HINTS: Readonly<Record<string, string>> = {
  quota: "Tokens per clock hour. If empty, the server's TOKEN_QUOTA applies.",
  url: 'Where clients reach it. They can then get tokens for it alone, with this URL as the resource. Leave it empty if none does.',
  labels: 'One per line, such as owner=web. Keys have the characters a-z 0-9 . _ - / only.',
  note: 'For operators only: whom to call, what it is for.',
  source_addresses:
    'Addresses and CIDR ranges, one per line, such as 192.0.2.0/24. From elsewhere, its correct secrets are refused. If empty, it may ask from anywhere.',
  public_labels: 'Keys of labels that suites and gateways see, one per line.',
  report_only: 'Requests are answered, but it shows which would be refused.',
  managed_by: 'The file or the program that may undo what is changed here. If empty, nothing does.',
}

const REPORTED = ['', ...LIMITS, LIMITS.join(' ')].map((value) => ({
  value,
  label: value === '' ? 'Nothing' : sentence(value.replace(' ', ' and ')),
}))

function input(name: string, value: string, stateOf: (name: string) => FieldState, more?: Part): Html {
  const control = {
    label: sentence(name),
    name,
    value,
    hint: HINTS[name] && html`${HINTS[name]}${help(words(name))}${more && html`<br><strong>${more}</strong>`}`,
    ...stateOf(name),
  }
  if (name === 'report_only') return select(control, REPORTED)
  if (LONG.includes(name)) return textarea({ ...control, isCode: name !== 'note' })
  return field({ ...control, required: REQUIRED.includes(name), type: name === 'quota' ? 'number' : 'text' })
}

/** The collapsed inputs of values that may be empty, for a new application or suite. */
export function optionalInputs(names: readonly string[], body: unknown, stateOf: (name: string) => FieldState): Html {
  const { text } = fieldsOf(body)
  const isOpen = names.some((name) => text(name) !== '')
  return html`<details${isOpen && html` open`}><summary>${sentence(new Intl.ListFormat('en').format(names.map(words)))}</summary>
<div class="form">${names.map((name) => input(name, text(name), stateOf))}</div></details>`
}

/** The optional facts about an application or a suite. `list` is the path of the list of its kind. */
export function annotationFacts(owner: Owner, list: List['href']) {
  const links = labelLinks(owner.labels, list)
  const given = Object.entries(optionalTexts(owner)).filter(([, text]) => text !== '')
  return [
    links && (['Labels', links] as const),
    ...given.map(([name, text]) => {
      const applied = name === 'managed_by' && html`, applied ${time(owner.appliedAt)}`
      return [sentence(name), html`<div class="lines" dir="auto">${text}${applied}</div>`] as const
    }),
  ]
}

interface List {
  href: '/applications' | '/suites'
  label: string
}

interface Registration extends Pick<Page, 'title' | 'lead'> {
  path: string
  parent: List
  first: string
  /** The inputs, with the values of the form that was refused, if any. */
  inputs: (request: FastifyRequest, stateOf: (name: string) => FieldState) => Part | Promise<Part>
  /** Names the inputs that show errors, as `inputs` of refusedFor. */
  errorsAt: Readonly<Record<string, string>>
  /** Resolves to the name of what is registered, and the page with its credentials. Throws OperatorError. */
  register: (request: FastifyRequest, repeatable: Repeatable) => Promise<{ named: string; content: Html }>
}

/** Shows and handles a registration form. Reloading the answer does not register a second time. */
export function registrationForm(console: FastifyInstance, { path, parent, inputs, ...form }: Registration): void {
  const place = { section: parent.href, trail: [parent] }
  const page = async (request: FastifyRequest, errors: readonly FieldError[]): Promise<Page> => ({
    ...place,
    title: form.title,
    lead: form.lead,
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="${path}" data-guard="${errors.length > 0 && 'changed'}">${hidden({ request_key: newRequestKey() })}
${await inputs(request, statesOf(errors, form.first))}
<div class="buttons"><button class="button primary">Register</button><a class="button" href="${parent.href}">Cancel</a></div></form>`,
  })

  console.get(path, async (request, reply) => {
    assertCanChange(request)
    return showPage(reply, await page(request, []))
  })

  console.post(path, async (request, reply) => {
    try {
      const { named, content } = await form.register(request, { idempotency: idempotencyOf(request) })
      const heading = html`<span>${name(named)} is registered</span>`
      return showPage(reply, { ...place, title: `${named} is registered`, heading, content })
    } catch (error) {
      const { errors, status } = refusedFor(error, form.errorsAt)
      return showPage(reply, await page(request, errors), { status })
    }
  })
}

/** Shows the consequences of a removal, asks for its name, and removes. */
export function removeOwner(console: FastifyInstance, context: AdminContext, owners: Owners): void {
  const { parent, find, remove, consequencesOf } = owners

  async function ask(id: string, reply: FastifyReply, { errors, status }: Refused) {
    const { request } = reply
    const owner = await find(id, request)
    const base = `${parent.href}${path`/${id}`}`
    const page: Page = {
      ...headBelow(parent, base, ['Remove ', owner.name, '?']),
      content: html`${formErrors(errors)}<form class="panel form" method="post" action="${base}/remove"><div class="consequences">
<p>This cannot be undone.</p>${await consequencesOf(owner, request)}</div>
${typedName({ name: owner.name, isWrong: errors.length > 0 })}
<div class="buttons"><button class="button danger">Remove it</button><a class="button" href="${base}">Keep it</a></div></form>`,
    }
    return showPage(reply, page, { status })
  }

  console.get<{ Params: { id: string } }>(`${parent.href}/:id/remove`, async (request, reply) => {
    assertCanChange(request)
    const { id } = request.params
    assertNewSignIn(context, request, `${parent.href}${path`/${id}`}/remove`)
    return ask(id, reply, { errors: [], status: 200 })
  })

  console.post<{ Params: { id: string } }>(`${parent.href}/:id/remove`, async (request, reply) => {
    const { id } = request.params
    assertNewSignIn(context, request, `${parent.href}${path`/${id}`}/remove`)
    const { name } = await find(id, request)
    try {
      assertNameTyped(request, name)
      await remove(id, request)
      return redirectChanged(context, reply, parent.href)
    } catch (error) {
      return ask(id, reply, refusedFor(error))
    }
  })
}
