import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import type { FieldError } from './components/forms.ts'
import { type ChangedNames, LABELS, type NameOf } from './components/names-panel.ts'
import { donePath } from './done.ts'
import { fieldsOf } from './fields.ts'
import { errorsOf, statusOf } from './form-errors.ts'
import { path } from './html.ts'
import type { Section } from './layout.ts'

type Names = Partial<Record<NameOf, string>>

/** How applications or suites are read, updated and shown. */
interface Owners {
  section: Extract<Section, '/applications' | '/suites'>
  /** The stored names. Throws OperatorError if the id does not exist. */
  stored: (id: string, request: FastifyRequest) => Promise<Names>
  update: (id: string, names: Names, request: FastifyRequest) => Promise<unknown>
  /** Shows the page again, with the form as it was sent. */
  show: (id: string, reply: FastifyReply, again: { names: ChangedNames; status: number }) => Promise<FastifyReply>
}

/**
 * Handles the form for names. Stores only the fields that were edited, and nothing if someone else has changed one of them
 * in the meantime.
 */
export function changeNames(console: FastifyInstance, { section, stored, update, show }: Owners): void {
  console.post<{ Params: { id: string } }>(`${section}/:id/names`, async (request, reply) => {
    const { id } = request.params
    const before = await stored(id, request)
    const form = formIn(request.body, before)
    if (form.fields.some((field) => field.stored !== undefined)) return show(id, reply, { names: form, status: 409 })
    const changed = form.fields.filter(isEdited)
    try {
      if (changed.length > 0)
        await update(id, Object.fromEntries(changed.map(({ name, value }) => [name, value])), request)
    } catch (error) {
      if (!(error instanceof OperatorError) || error.kind !== 'invalid') throw error
      return show(id, reply, { names: { ...form, errors: errorsOf(error) }, status: statusOf(error) })
    }
    return reply.redirect(donePath(`${section}${path`/${id}`}`, 'names-saved'), 303)
  })
}

/** The form as it was sent. `stored` is set for fields that someone else has changed in the meantime. */
function formIn(body: unknown, before: Names): ChangedNames {
  const fields = fieldsOf(body)
  const changes = Object.entries(before).map(([field, stored]) => {
    const name = field as NameOf
    const value = fields.text(name)
    const [shown = stored] = fields.all(`shown_${name}`)
    const isConflict = isEdited({ value, shown }) && stored !== shown && stored !== value
    return { name, label: LABELS[name], value, shown, stored: isConflict ? stored : undefined }
  })
  return { fields: changes, errors: [] as FieldError[] }
}

/** Whether the operator has edited a field. Fields are trimmed when they are read, so the shown value must be, too. */
function isEdited({ value, shown }: { value: string; shown: string }): boolean {
  return value !== shown.trim()
}
