import { type Html, html } from '../html.ts'
import { type FieldError, field, formErrors, hidden } from './forms.ts'
import { name, note, section } from './words.ts'

/** A field that an operator can change. */
interface NamedField {
  name: NameOf
  label: string
  value: string
  /** What was stored when the form was shown. */
  shown: string
  /** What another operator has stored in the meantime. */
  stored?: string | undefined
}

/** The form for the name of a suite, or the name and developer email of an application. */
export interface ChangedNames {
  fields: readonly NamedField[]
  errors: readonly FieldError[]
}

export const LABELS = { name: 'Name', developer_email: 'Developer email' } as const

export type NameOf = keyof typeof LABELS

/** The form with the stored values. */
export function unchangedNames(values: Partial<Record<NameOf, string>>): ChangedNames {
  const fields = Object.entries(values).map(([field, value]) => {
    const name = field as NameOf
    return { name, label: LABELS[name], value, shown: value }
  })
  return { fields, errors: [] }
}

interface NamesPanel {
  action: string
  form: ChangedNames
  canChange: boolean
}

/** The form. It also sends the values it was shown with, so that changes of others are not overwritten unnoticed. */
export function namesPanel({ action, form: { fields, errors }, canChange }: NamesPanel): Html | undefined {
  if (!canChange) return
  const title = fields.length > 1 ? 'Name and developer email' : 'Name'
  const changed = fields.filter(({ stored }) => stored !== undefined)
  return section(
    'names',
    title,
    html`${formErrors(errors)}${
      changed.length > 0 &&
      note(
        'warn',
        html`<p>Someone else changed this in the meantime, so nothing was saved. Save again to overwrite it.</p>
<ul>${changed.map(({ label, stored = '', value }) => html`<li>${label}: now ${name(stored)}, yours ${name(value)}</li>`)}</ul>`,
      )
    }
<form class="form" method="post" action="${action}">
${fields.map(({ name: field, shown, stored = shown }) => hidden({ [`shown_${field}`]: stored }))}
${fields.map(({ name, label, value }) => field({ label, name, value, required: true, error: errors.find((error) => error.field === name)?.message }))}
<div class="buttons"><button class="button primary">Save</button></div></form>`,
  )
}
