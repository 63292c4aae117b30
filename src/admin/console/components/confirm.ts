import { type Html, html, type Part } from '../html.ts'

export interface Confirmation {
  /** What the button says that asks: `Suspend`. */
  label: string
  /** Where the form is sent. */
  action: string
  /** What will happen, in sentences. */
  consequences: Part
  /** What the button says that does it; the label unless it is said. */
  confirm?: string
  /** Hidden inputs and others of the form. */
  inputs?: Part
  /** Of what cannot be undone, or takes something away. */
  isDangerous?: boolean
  /** To whom it happens, for those who hear the button and do not see its row. */
  subject?: string | undefined
  /** In a table. */
  isSmall?: boolean
}

/** A button that asks before something happens: it opens the question below itself, and with scripts as a dialog. */
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
