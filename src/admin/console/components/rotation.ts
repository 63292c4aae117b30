import { type Html, html } from '../html.ts'
import { newRequestKey } from '../idempotency.ts'
import { type FieldError, field, hidden, select } from './forms.ts'

/** The form for a new secret. */
export interface Rotation {
  /** The idempotency key: sending the form again creates no second secret. */
  requestKey: string
  /** One of OVERLAPS, in seconds. */
  overlap: string
  /** Hours as typed. If not empty, they take precedence over `overlap`. */
  hours: string
  error?: FieldError | undefined
}

/** How long previous secrets stay valid, in seconds. */
export const OVERLAPS = [
  { value: '0', label: 'not at all: they end now' },
  { value: '3600', label: 'for 1 hour' },
  { value: '86400', label: 'for 1 day' },
  { value: '604800', label: 'for 7 days' },
] as const

/** A day, as on the command line. */
const DEFAULT_OVERLAP = '86400'

/** The form with its defaults. */
export function newRotation(): Rotation {
  return { requestKey: newRequestKey(), overlap: DEFAULT_OVERLAP, hours: '' }
}

/** The form that creates a new secret. It is open if it has an error. */
export function rotation(base: string, { requestKey, overlap, hours, error }: Rotation): Html {
  const errorOf = (name: string) => (error?.field === name ? error.message : undefined)
  return html`<details class="confirm"${error && html` open`}><summary class="button">Rotate secret…</summary>
<form method="post" action="${base}/secrets">${hidden({ request_key: requestKey })}<p class="question">Rotate secret</p>
<div class="consequences"><p>The new secret is shown once. Keep the current ones valid until the new one is in use.</p></div>
${select({ label: 'Current secrets stay valid', name: 'overlap', value: overlap, error: errorOf('overlap') }, OVERLAPS)}
${field({ label: 'Or a number of hours', name: 'hours', type: 'number', value: hours, hint: 'From 1 to 8760. If you fill this in, it replaces the choice above.', error: errorOf('hours') })}
<div class="buttons"><button class="button primary">Rotate</button><button type="button" class="button" data-cancel hidden>Cancel</button></div></form></details>`
}
