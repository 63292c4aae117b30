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

/** Whose names they are. */
interface Owners {
  section: Extract<Section, '/applications' | '/suites'>
  /** What one is called now. Throws OperatorError where there is no such one. */
  stored: (id: string, request: FastifyRequest) => Promise<Names>
  update: (id: string, names: Names, request: FastifyRequest) => Promise<unknown>
  /** Shows the page of one again, with the form as it was. */
  show: (id: string, reply: FastifyReply, again: { names: ChangedNames; status: number }) => Promise<FastifyReply>
}

/**
 * Changes what applications or suites are called. Only what was changed in the form is stored, and nothing where somebody else
 * has changed the same meanwhile.
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

/** The form as it was sent, and where somebody else has changed meanwhile what was changed in it. */
function formIn(body: unknown, before: Names): ChangedNames {
  const fields = fieldsOf(body)
  const changes = Object.entries(before).map(([field, stored]) => {
    const name = field as NameOf
    const value = fields.text(name)
    const [shown = stored] = fields.all(`shown_${name}`)
    const isInTheWay = isEdited({ value, shown }) && stored !== shown && stored !== value
    return { name, label: LABELS[name], value, shown, stored: isInTheWay ? stored : undefined }
  })
  return { fields: changes, errors: [] as FieldError[] }
}

/** Whether what was typed differs from what was shown: it is read without the space around it, which a stored name may have. */
function isEdited({ value, shown }: { value: string; shown: string }): boolean {
  return value !== shown.trim()
}
