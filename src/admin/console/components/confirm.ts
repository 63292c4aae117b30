import { type Html, html, type Part } from '../html.ts'

export interface Confirmation {
  /** The label of the button that opens the question, such as `Suspend`. */
  label: string
  /** The URL that the form is sent to. */
  action: string
  /** What will happen, in sentences. */
  consequences: Part
  /** The label of the button that confirms. Default: `label`. */
  confirm?: string
  /** Further inputs of the form. */
  inputs?: Part
  /** Destructive or not reversible. Default: true. */
  isDangerous?: boolean
  /** What the action applies to: part of the question, and of the label that screen readers read. */
  subject?: string | undefined
  /** A small button, for tables. */
  isSmall?: boolean
}

/** A button that asks for confirmation, in a `<details>` below it. console.js moves the question into a dialog. */
export function confirm(confirmation: Confirmation): Html {
  const { label, action, consequences, confirm = label, inputs, isDangerous = true, subject, isSmall } = confirmation
  const tone = isDangerous ? 'danger' : 'primary'
  const question = subject === undefined ? `${label}?` : `${label} ${subject}?`
  return html`<details class="confirm"><summary class="button ${isDangerous && 'danger-quiet'} ${isSmall && 'small'}">${label}…${
    subject !== undefined && html`<span class="unseen"> ${subject}</span>`
  }</summary>
<form method="post" action="${action}">${inputs}<p class="question">${question}</p><div class="consequences">${consequences}</div>
<div class="buttons"><button class="button ${tone}">${confirm}</button><button type="button" class="button" data-cancel hidden>Cancel</button></div></form></details>`
}
