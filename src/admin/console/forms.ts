import type { FastifyReply, FastifyRequest } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import { randomString } from '../../domain/text.ts'
import { type Html, html, type Part } from '../../web/html.ts'
import { callerOf } from '../wire/caller.ts'
import { problemOf, RefusedOperator } from '../wire/problem.ts'

export function canChange(request: FastifyRequest): boolean {
  return callerOf(request).operator.role === 'admin'
}

/** Throws RefusedOperator for viewers, on pages that only have a form. */
export function assertCanChange(request: FastifyRequest): void {
  if (!canChange(request)) throw new RefusedOperator('viewer')
}

/** Reads a parsed form or query. `all` returns the values of a name, `text` the first one, trimmed, or an empty text. */
export function fieldsOf(values: unknown) {
  const sent = (name: string) => [(values as Record<string, string | string[]> | undefined)?.[name] ?? []].flat()
  // Forms send line breaks as CRLF.
  const all = (name: string) => sent(name).map((value) => value.replaceAll('\r\n', '\n'))
  const text = (name: string) => all(name)[0]?.trim() ?? ''
  return { all, text }
}

export function textsIn<Name extends string>(names: readonly Name[], values: unknown): Record<Name, string> {
  const { text } = fieldsOf(values)
  return Object.fromEntries(names.map((name) => [name, text(name)])) as Record<Name, string>
}

/** An idempotency key for a form, so that a reload does not repeat the change. */
export function newRequestKey(): string {
  return randomString(32)
}

/** The idempotency key of a form, bound to the session and the request. */
export function idempotencyOf(request: FastifyRequest) {
  const { method, url, body } = request
  const key = fieldsOf(body).text('request_key') || newRequestKey()
  return { key, credential: callerOf(request).credential, request: JSON.stringify([method, url, body]) }
}

export interface Refused {
  errors: readonly FieldError[]
  status: number
}

/**
 * Why an operator's form was refused. Rethrows any other error. `inputs` names the input that shows an error, by JSON field if
 * the names differ, or by kind for errors without fields.
 */
export function refusedFor(error: unknown, inputs: Readonly<Record<string, string>> = {}): Refused {
  if (!(error instanceof OperatorError)) throw error
  const { status } = problemOf(error)
  const { kind, fields, message } = error
  if (!fields) return { errors: [{ field: inputs[kind], message }], status }
  return {
    errors: fields.map(({ field, message }) => ({ field: inputs[field] ?? field, message: `${message}.` })),
    status,
  }
}

/** Throws OperatorError unless a form has this name: what ends for good is confirmed by typing it. */
export function assertNameTyped({ body }: FastifyRequest, name: string): void {
  if (fieldsOf(body).text('typed_name') === name.trim()) return
  throw new OperatorError(`Type the name to confirm: ${name}.`, { kind: 'invalid' })
}

/** Messages after a successful change, by the `done` of the URL: a closed list, so that a link cannot inject text or a number. */
const DONE = {
  'nothing-changed': 'Nothing has changed.',
  'secret-shown': 'The new secret was shown once. It cannot be shown again.',
  'secret-revoked': 'The secret is revoked.',
  'federated-added': 'The federated credential is added: its JWTs are accepted from the next request on.',
  'credential-revoked': 'The federated credential is revoked.',
  'link-withdrawn': 'The hand-over link is withdrawn.',
  'tokens-revoked': 'All tokens of the application are revoked.',
  'key-revoked': 'The key is revoked.',
  'session-ended': 'The session has ended.',
  acknowledged: 'It is acknowledged, for all operators, until it changes or 7 days have passed.',
} as const

/** Redirects after a successful change, to a part of the page at `path`, which shows the message. */
export function redirectDone(reply: FastifyReply, path: string, done: keyof typeof DONE, part = ''): FastifyReply {
  return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}done=${done}${part}`, 303)
}

export function doneMessage(request: FastifyRequest): string | undefined {
  const code = fieldsOf(request.query).text('done')
  return Object.hasOwn(DONE, code) ? DONE[code as keyof typeof DONE] : undefined
}

/** An error in a form. `field` is the name of the input; undefined if the error belongs to none. */
export interface FieldError {
  field: string | undefined
  message: Part
}

export interface FieldState {
  error: Part
  autofocus: boolean
}

/** Returns the state of an input by its name. The first one with an error has the focus; without errors, `first`. */
export function statesOf(errors: readonly FieldError[], first?: string): (name: string) => FieldState {
  const focused = errors.length === 0 ? first : errors.find(({ field }) => field !== undefined)?.field
  return (name) => ({ error: errors.find(({ field }) => field === name)?.message, autofocus: name === focused })
}

interface Control {
  label: string
  name: string
  value?: string | undefined
  hint?: Part
  error?: Part
  type?: 'text' | 'email' | 'search' | 'number' | 'date' | 'datetime-local'
  required?: boolean
  /** Monospaced and without spell checking, for ids and codes. */
  isCode?: boolean
  placeholder?: string
  autofocus?: boolean
}

export function field(control: Control): Html {
  const { value = '', type = 'text' } = control
  return wrap(control, html`<input ${attributes(control, html` type="${type}" value="${value}"`)}>`)
}

/** The same for multi-line text. Browsers ignore the first line break. */
export function textarea(control: Control): Html {
  return wrap(control, html`<textarea ${attributes(control, html` rows="3"`)}>\n${control.value}</textarea>`)
}

function attributes(control: Control, own: Html): Html {
  const { name, required, isCode, placeholder, autofocus } = control
  return html`id="${idOf(name)}" name="${name}"${own} dir="auto" autocomplete="off"${
    required && html` required`
  }${autofocus && html` autofocus`}${isCode && html` class="code" spellcheck="false" autocapitalize="none"`}${
    placeholder && html` placeholder="${placeholder}"`
  }${ariaAttributes(control)}`
}

interface Choice {
  value: string
  label: Part
  hint?: Part
  checked?: boolean
}

export function select(control: Control, choices: readonly Omit<Choice, 'hint' | 'checked'>[]): Html {
  return wrap(
    control,
    html`<select id="${idOf(control.name)}" name="${control.name}"${ariaAttributes(control)}>${choices.map(
      ({ value, label }) =>
        html`<option value="${value}"${value === control.value && html` selected`}>${label}</option>`,
    )}</select>`,
  )
}

export function checkboxes(
  { label, name, hint, error, autofocus }: Pick<Control, 'name' | 'hint' | 'error' | 'autofocus'> & { label: Part },
  choices: readonly Choice[],
): Html {
  return html`<fieldset class="choices" id="${idOf(name)}"${ariaAttributes({ name, hint, error })}${autofocus && html` tabindex="-1" autofocus`}><legend>${label}</legend>${hintOf(name, hint)}${errorOf(name, error)}${choices.map(
    ({ value, label, hint, checked = false }) =>
      html`<label class="choice"><input type="checkbox" name="${name}" value="${value}"${
        checked && html` checked`
      }><span>${label}${hint && html` <span class="hint">${hint}</span>`}</span></label>`,
  )}</fieldset>`
}

/** Buttons that tick all checkboxes of a part with `data-checks`, or none. console.js shows them. */
export function allOrNone(none = 'Tick none'): Html {
  const labels = { all: 'Tick all', none }
  return html`<div class="buttons" data-tick-buttons hidden>${Object.entries(labels).map(([which, label]) => html`<button type="button" class="button" data-tick="${which}">${label}</button>`)}</div>`
}

export function hidden(values: Readonly<Record<string, string>>): Html[] {
  return Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}

/** The error summary above a form, with links to the fields. Undefined if there are no errors. */
export function formErrors(errors: readonly FieldError[]): Html | undefined {
  if (errors.length === 0) return
  return html`<div class="note bad" role="alert"><p>Nothing was changed.</p><ul>${errors.map(
    ({ field, message }) =>
      html`<li>${field === undefined ? message : html`<a href="#${idOf(field)}">${message}</a>`}</li>`,
  )}</ul></div>`
}

interface Confirmation {
  /** The label of the button that opens the question, such as `Suspend`. */
  label: string
  action: string
  consequences: Part
  /** What the action applies to: part of the question, and of the label that screen readers read. */
  subject: string
  /** The id of the question, by which links open it. */
  id?: string
  /** For what ends for good. */
  typed?: TypedName | undefined
}

interface TypedName {
  /** The name to type. */
  name: string
  /** Whether the form was sent without it. */
  isWrong: boolean
}

/** The button of a destructive action, which asks for confirmation in a `<details>` below it. console.js moves the question into a dialog. */
export function confirm({ label, action, consequences, subject, id, typed }: Confirmation): Html {
  return html`<details class="confirm"${typed?.isWrong && html` open`}><summary class="button danger-quiet">${label}…<span class="unseen"> ${subject}</span></summary>
<form method="post" action="${action}"><p class="question"${id && html` id="${id}"`}>${label} ${subject}?</p><div class="consequences">${consequences}</div>${typed && typedName(typed)}
<div class="buttons"><button class="button danger">${label}</button><button type="button" class="button" data-cancel hidden>Cancel</button></div></form></details>`
}

/** The input for the name of what ends for good. Without an id, because a page may have several. */
export function typedName({ name, isWrong }: TypedName): Html {
  return html`<label class="field"><strong>Type <bdi class="lines">${name}</bdi> to confirm</strong><input name="typed_name" required dir="auto" autocomplete="off" autocapitalize="none" spellcheck="false"${isWrong && html` aria-invalid="true" autofocus`}>${isWrong && html`<span class="error">This name was not typed.</span>`}</label>`
}

function wrap({ label, name, hint, error }: Control, input: Html): Html {
  const id = idOf(name)
  return html`<div class="field"><label for="${id}">${label}</label>${hintOf(name, hint)}${input}${errorOf(name, error)}</div>`
}

function hintOf(name: string, hint: Part): Html | undefined {
  if (hint) return html`<p class="hint" id="${idOf(name)}-hint">${hint}</p>`
}

function errorOf(name: string, error: Part): Html | undefined {
  if (error !== undefined) return html`<p class="error" id="${idOf(name)}-error">${error}</p>`
}

function ariaAttributes({ name, hint, error }: Pick<Control, 'name' | 'hint' | 'error'>): Html {
  const id = idOf(name)
  const ids = [hint && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean).join(' ')
  return html`${error !== undefined && html` aria-invalid="true"`}${ids !== '' && html` aria-describedby="${ids}"`}`
}

function idOf(name: string): string {
  return `field-${name}`
}
