import { type Html, html, type Part } from '../html.ts'

/** What is wrong with one field of a form; `field` is its name. Undefined: it is of none. */
export interface FieldError {
  field: string | undefined
  message: string
}

interface Control {
  label: string
  name: string
  value?: string | undefined
  hint?: Part
  /** What is wrong with the value. */
  error?: string | undefined
}

export interface TextControl extends Control {
  type?: 'text' | 'email' | 'search' | 'number' | 'date' | 'password'
  required?: boolean
  /** What the browser may fill in; off unless it is said. */
  autocomplete?: string
  /** Letters and digits of equal width, for ids and codes. */
  isCode?: boolean
  placeholder?: string
  /** The first field of a page that is nothing but a form. */
  autofocus?: boolean
}

/** A line to write in, with its label, a hint, and what is wrong with it. */
export function field(control: TextControl): Html {
  const {
    name,
    value = '',
    type = 'text',
    required = false,
    autocomplete = 'off',
    isCode,
    placeholder,
    autofocus,
  } = control
  return around(
    control,
    html`<input id="${idOf(name)}" name="${name}" type="${type}" value="${value}" dir="auto" autocomplete="${autocomplete}"${
      required && html` required`
    }${autofocus && html` autofocus`}${isCode && html` class="code" spellcheck="false" autocapitalize="none"`}${
      placeholder && html` placeholder="${placeholder}"`
    }${described(control)}>`,
  )
}

export interface Choice {
  value: string
  label: Part
  hint?: Part
  checked?: boolean
}

/** One of several values. */
export function select(control: Control, choices: readonly Omit<Choice, 'hint' | 'checked'>[]): Html {
  return around(
    control,
    html`<select id="${idOf(control.name)}" name="${control.name}"${described(control)}>${choices.map(
      ({ value, label }) =>
        html`<option value="${value}"${value === control.value && html` selected`}>${label}</option>`,
    )}</select>`,
  )
}

/** Several of several values, of one name. */
export function checkboxes(
  { label, name, hint, error }: Pick<Control, 'name' | 'hint' | 'error'> & { label: Part },
  choices: readonly Choice[],
): Html {
  return html`<fieldset class="choices" id="${idOf(name)}"${described({ name, hint, error })}><legend>${label}</legend>${hintOf(name, hint)}${wrongWith(name, error)}${choices.map(
    ({ value, label, hint, checked = false }) =>
      html`<label class="choice"><input type="checkbox" name="${name}" value="${value}"${
        checked && html` checked`
      }><span>${label}${hint && html` <span class="hint">${hint}</span>`}</span></label>`,
  )}</fieldset>`
}

/** Values that are sent along unseen. */
export function hidden(values: Readonly<Record<string, string>>): Html[] {
  return Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}

/** What is wrong with a form, above it, with links to the fields. Undefined: nothing. */
export function formErrors(errors: readonly FieldError[]): Html | undefined {
  if (errors.length === 0) return
  return html`<div class="note bad" role="alert"><p>Nothing was changed.</p><ul>${errors.map(
    ({ field, message }) =>
      html`<li>${field === undefined ? message : html`<a href="#${idOf(field)}">${message}</a>`}</li>`,
  )}</ul></div>`
}

function around({ label, name, hint, error }: Control, input: Html): Html {
  const id = idOf(name)
  return html`<div class="field"><label for="${id}">${label}</label>${hintOf(name, hint)}${input}${wrongWith(name, error)}</div>`
}

function hintOf(name: string, hint: Part): Html | undefined {
  if (hint) return html`<p class="hint" id="${idOf(name)}-hint">${hint}</p>`
}

function wrongWith(name: string, error: string | undefined): Html | undefined {
  if (error !== undefined) return html`<p class="error" id="${idOf(name)}-error">${error}</p>`
}

/** What screen readers say with an input. */
function described({ name, hint, error }: Pick<Control, 'name' | 'hint' | 'error'>): Html {
  const id = idOf(name)
  const ids = [hint && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean).join(' ')
  return html`${error !== undefined && html` aria-invalid="true"`}${ids !== '' && html` aria-describedby="${ids}"`}`
}

function idOf(name: string): string {
  return `field-${name}`
}
