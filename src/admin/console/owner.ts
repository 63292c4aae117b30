import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import { name, note, section } from './components.ts'
import {
  errorFor,
  errorsOf,
  type FieldError,
  field,
  fieldsOf,
  formErrors,
  hidden,
  redirectDone,
  statusOf,
} from './forms.ts'
import { type Html, html, type Part, path } from './html.ts'
import type { Page } from './layout.ts'

// What the pages of applications and of suites have in common.

/** How applications or suites are found, changed and shown. */
export interface Owners {
  section: '/applications' | '/suites'
  /** Throws OperatorError if the id does not exist, or belongs to the other kind. */
  find: (id: string, request: FastifyRequest) => Promise<Owner>
  update: (id: string, names: Names, request: FastifyRequest) => Promise<unknown>
  /** Shows the page again, because a form was refused. */
  show: (id: string, reply: FastifyReply, again: Again) => Promise<FastifyReply>
}

/** An application or a suite. Only applications have a developer and approvals. */
interface Owner {
  name: string
  developerEmail?: string
  suites?: readonly string[]
}

/** What is different when the page is shown again. */
export interface Again {
  status?: number
  /** Why the last form could not be carried out. */
  problem?: string
  names?: NamesForm
  rotation?: Rotation
}

/** The form for a new secret. */
export interface Rotation {
  /** The idempotency key: sending the form again creates no second secret. */
  requestKey: string
  /** One of OVERLAPS, in seconds. */
  overlap: string
  /** Hours as typed. If not empty, they take precedence over `overlap`. */
  hours: string
  /** Why the hours are invalid. */
  error?: string
}

/** Above the page: why the last form could not be carried out, and for viewers why there are none. */
export function notes(problem: string | undefined, canChange: boolean): Html {
  return html`${problem && note('bad', html`<p>${problem}</p>`)}
${!canChange && note('quiet', html`<p>You are a viewer: you can see everything, but change nothing.</p>`)}`
}

const LABELS = { name: 'Name', developer_email: 'Developer email' } as const

type NameOf = keyof typeof LABELS

type Names = Partial<Record<NameOf, string>>

/** A field that an operator can change. */
interface NamedField {
  name: NameOf
  value: string
  /** What was stored when the form was shown. */
  shown: string
  /** What another operator has stored in the meantime. */
  stored?: string | undefined
}

/** The form for the name of a suite, or the name and developer email of an application. */
interface NamesForm {
  fields: readonly NamedField[]
  errors: readonly FieldError[]
}

/**
 * Handles the form for names. Stores only the fields that were edited, and nothing if someone else has changed one of them
 * in the meantime.
 */
export function changeNames(console: FastifyInstance, { section, find, update, show }: Owners): void {
  console.post<{ Params: { id: string } }>(`${section}/:id/names`, async (request, reply) => {
    const { id } = request.params
    const fields = fieldsIn(request.body, namesOf(await find(id, request)))
    if (fields.some(({ stored }) => stored !== undefined)) {
      return show(id, reply, { names: { fields, errors: [] }, status: 409 })
    }
    const changed = fields.filter(isEdited)
    try {
      if (changed.length > 0)
        await update(id, Object.fromEntries(changed.map(({ name, value }) => [name, value])), request)
    } catch (error) {
      if (!(error instanceof OperatorError) || error.kind !== 'invalid') throw error
      return show(id, reply, { names: { fields, errors: errorsOf(error) }, status: statusOf(error) })
    }
    return redirectDone(reply, `${section}${path`/${id}`}`, 'names-saved')
  })
}

/** The form as it was sent. `stored` is set for fields that someone else has changed in the meantime. */
function fieldsIn(body: unknown, before: Names): NamedField[] {
  const fields = fieldsOf(body)
  return entriesOf(before).map(([name, stored]) => {
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

function namesOf({ name, developerEmail }: Owner): Names {
  return developerEmail === undefined ? { name } : { name, developer_email: developerEmail }
}

function entriesOf(names: Names): [NameOf, string][] {
  return Object.entries(names) as [NameOf, string][]
}

interface NamesPanel {
  /** The path of the owner's page. */
  base: string
  owner: Owner
  /** The form that was refused, if any. */
  form: NamesForm | undefined
}

/** The form. It also sends the values it was shown with, so that changes of others are not overwritten unnoticed. */
export function namesPanel({ base, owner, form }: NamesPanel): Html {
  const unchanged = entriesOf(namesOf(owner)).map(([name, value]): NamedField => ({ name, value, shown: value }))
  const { fields, errors } = form ?? { fields: unchanged, errors: [] }
  const changed = fields.filter(({ stored }) => stored !== undefined)
  return section(
    'names',
    fields.length > 1 ? 'Name and developer email' : 'Name',
    html`${formErrors(errors)}${
      changed.length > 0 &&
      note(
        'warn',
        html`<p>Someone else changed this in the meantime, so nothing was saved. Save again to overwrite it.</p>
<ul>${changed.map(({ name: field, stored = '', value }) => html`<li>${LABELS[field]}: now ${name(stored)}, yours ${name(value)}</li>`)}</ul>`,
      )
    }
<form class="form" method="post" action="${base}/names">
${fields.map(({ name, shown, stored = shown }) => hidden({ [`shown_${name}`]: stored }))}
${fields.map(({ name, value }) => field({ label: LABELS[name], name, value, required: true, error: errorFor(name, errors) }))}
<div class="buttons"><button class="button primary">Save</button></div></form>`,
  )
}

interface Removal {
  named: string
  /** The path of the owner's page. */
  base: string
  above: { href: '/applications' | '/suites'; label: string }
  /** Items of a list. */
  consequences: Part
  /** What to do instead. */
  instead?: Part
}

/** Asks for confirmation, and lists the consequences. */
export function removalPage({ named, base, above, consequences, instead }: Removal): Page {
  return {
    title: `Remove ${named}?`,
    heading: html`<span>Remove ${name(named)}?</span>`,
    section: above.href,
    trail: [above, { href: base, label: name(named) }],
    content: html`<form class="panel form" method="post" action="${base}/remove"><div class="consequences">
<p>This cannot be undone.</p><ul>
${consequences}
</ul>${instead}</div>
<div class="buttons"><button class="button danger">Remove it</button><a class="button" href="${base}">Keep it</a></div></form>`,
  }
}
