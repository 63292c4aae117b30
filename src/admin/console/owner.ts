import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import { name, note, section, sentence, words } from './components.ts'
import {
  assertCanChange,
  errorsOf,
  type FieldError,
  type FieldState,
  field,
  fieldsOf,
  formErrors,
  hidden,
  idempotencyOf,
  keyForRetry,
  newRequestKey,
  redirectDone,
  statesOf,
  statusOf,
} from './forms.ts'
import { type Html, html, type Part, path } from './html.ts'
import { type Page, showPage } from './layout.ts'

// What the pages of applications and of suites have in common.

/** The functions that find, change and show one kind of client: applications or suites. */
export interface Owners {
  section: '/applications' | '/suites'
  /** Throws OperatorError if the id does not exist, or belongs to the other kind. */
  find: (id: string, request: FastifyRequest) => Promise<Owner>
  /** Changes these values, and what else the form has. Resolves to whether anything differed. Throws OperatorError. */
  update: (id: string, values: Values, request: FastifyRequest) => Promise<boolean>
  /** Shows the page again, because a form was refused. */
  show: (id: string, reply: FastifyReply, again: Again) => Promise<FastifyReply>
}

/** Values that an operator may change, by their JSON names. */
export type Values = Readonly<Record<string, string>>

interface Owner {
  name: string
  values: Values
  /** The approvals, which only applications have. */
  suites?: readonly string[]
}

/** What is different when the page is shown again. */
export interface Again {
  status?: number
  /** Why the last change was refused. */
  errors?: readonly FieldError[]
  /** The form as it was sent. */
  names?: readonly NamedField[]
  rotation?: Rotation
}

export interface Rotation {
  /** The idempotency key: sending the form again creates no second secret. */
  requestKey: string
  /** One of OVERLAPS, in seconds. */
  overlap: string
  /** Hours as typed. If not empty, they take precedence over `overlap`. */
  hours: string
}

/** The notes at the top of a page: why the last form was refused, and why viewers see no forms. */
export function notes(errors: readonly FieldError[], canChange: boolean): Html {
  return html`${formErrors(errors)}
${!canChange && note('quiet', html`<p>You are a viewer: you can see everything, but change nothing.</p>`)}`
}

interface NamedField {
  name: string
  value: string
  /** What was stored when the form was shown. */
  shown: string
  /** What another operator has stored in the meantime. */
  stored?: string | undefined
}

/**
 * Handles the form that changes values. Stores only the fields that were edited, and nothing if someone else has changed one
 * of them in the meantime.
 */
export function changeNames(console: FastifyInstance, { section, find, update, show }: Owners): void {
  console.post<{ Params: { id: string } }>(`${section}/:id`, async (request, reply) => {
    const { id } = request.params
    const names = fieldsIn(request.body, (await find(id, request)).values)
    const errors = names.flatMap(({ name: field, stored }) =>
      stored === undefined ? [] : changedByOthers(field, stored),
    )
    if (errors.length > 0) return show(id, reply, { names, errors, status: 409 })
    try {
      const edited = names.filter(isEdited).map(({ name, value }) => [name, value])
      const changed = await update(id, Object.fromEntries(edited), request)
      return redirectDone(reply, `${section}${path`/${id}`}`, changed ? 'saved' : 'nothing-changed')
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      return show(id, reply, { names, errors: errorsOf(error, { 'not found': 'suite' }), status: statusOf(error) })
    }
  })
}

function changedByOthers(field: string, stored: string): FieldError {
  const message = html`${sentence(field)}: someone else has changed it to ${name(stored)} in the meantime. Save again to overwrite it.`
  return { field, message }
}

/** The form as it was sent. `stored` is set for fields that someone else has changed in the meantime. */
function fieldsIn(body: unknown, before: Values): NamedField[] {
  const fields = fieldsOf(body)
  return Object.entries(before).map(([name, stored]) => {
    const value = fields.text(name)
    const [shown = stored] = fields.all(`shown_${name}`)
    const isConflict = isEdited({ value, shown }) && stored !== shown && stored !== value
    return { name, value, shown, stored: isConflict ? stored : undefined }
  })
}

/** Whether the operator has edited a field. Fields are trimmed when they are read, so the shown value must be, too. */
function isEdited({ value, shown }: { value: string; shown: string }): boolean {
  return value !== shown.trim()
}

/** The form of a page, around some of its panels. For viewers there is none. */
export function editForm(base: string, canChange: boolean, content: Part): Html {
  if (!canChange) return html`<div class="columns">${content}</div>`
  return html`<form class="columns" method="post" action="${base}">${content}</form>`
}

/** The inputs for values. They also send the values they were shown with, so that changes of others are not overwritten unnoticed. */
export function namesPanel(
  values: Values,
  sent: readonly NamedField[] | undefined,
  stateOf: (name: string) => FieldState,
): Html {
  const fields = sent ?? Object.entries(values).map(([name, value]): NamedField => ({ name, value, shown: value }))
  return section(
    'names',
    sentence(new Intl.ListFormat('en').format(fields.map(({ name }) => words(name)))),
    html`<div class="form">
${fields.map(({ name, shown, stored = shown }) => hidden({ [`shown_${name}`]: stored }))}
${fields.map(({ name, value }) => field({ label: sentence(name), name, value, required: true, ...stateOf(name) }))}
<div class="buttons"><button class="button primary">Save</button></div></div>`,
  )
}

interface List {
  href: '/applications' | '/suites'
  label: string
}

/** The page that registers an application or a suite. */
interface Registration extends Pick<Page, 'title' | 'lead'> {
  path: string
  parent: List
  /** The name of the first input. */
  first: string
  /** The inputs, with the values of the form that was refused, if any. */
  inputs: (request: FastifyRequest, stateOf: (name: string) => FieldState) => Part | Promise<Part>
  /** Which inputs show which errors: the `inputs` of errorsOf. */
  errorsAt: Readonly<Record<string, string>>
  /** Resolves to the page with the credentials. Throws OperatorError. */
  register: (request: FastifyRequest, repeatable: { idempotency: Idempotency }) => Promise<Page>
}

type Idempotency = ReturnType<typeof idempotencyOf>

/** Shows and handles a registration form. Reloading the answer does not register a second time. */
export function registrationForm(console: FastifyInstance, { path, parent, inputs, ...form }: Registration): void {
  const page = async (request: FastifyRequest, requestKey: string, errors: readonly FieldError[]): Promise<Page> => ({
    title: form.title,
    section: parent.href,
    trail: [parent],
    lead: form.lead,
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="${path}">${hidden({ request_key: requestKey })}
${await inputs(request, statesOf(errors, form.first))}
<div class="buttons"><button class="button primary">Register</button><a class="button" href="${parent.href}">Cancel</a></div></form>`,
  })

  console.get(path, async (request, reply) => {
    assertCanChange(request)
    return showPage(reply, await page(request, newRequestKey(), []))
  })

  console.post(path, async (request, reply) => {
    try {
      return showPage(reply, await form.register(request, { idempotency: idempotencyOf(request) }))
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const refused = await page(request, keyForRetry(request, error), errorsOf(error, form.errorsAt))
      return showPage(reply, refused, { status: statusOf(error) })
    }
  })
}

interface Removal {
  named: string
  base: string
  parent: List
  /** Items of a list. */
  consequences: Part
  instead?: Part
}

/** The page that lists the consequences of a removal and asks for confirmation. */
export function removalPage({ named, base, parent, consequences, instead }: Removal): Page {
  return {
    title: `Remove ${named}?`,
    heading: html`<span>Remove ${name(named)}?</span>`,
    section: parent.href,
    trail: [parent, { href: base, label: name(named) }],
    content: html`<form class="panel form" method="post" action="${base}/remove"><div class="consequences">
<p>This cannot be undone.</p><ul>
${consequences}
</ul>${instead}</div>
<div class="buttons"><button class="button danger">Remove it</button><a class="button" href="${base}">Keep it</a></div></form>`,
  }
}
