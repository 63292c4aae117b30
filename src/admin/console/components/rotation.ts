import { type Html, html } from '../html.ts'
import { newRequestKey } from '../idempotency.ts'
import { type FieldError, field, hidden, select } from './forms.ts'

/** How a new secret is asked for. */
export interface Rotation {
  /** What tells this request from any other: sent again, it makes no other secret. */
  requestKey: string
  /** One of the choices. */
  overlap: string
  /** Hours, as they were typed: they count where there are any. */
  hours: string
  error?: FieldError | undefined
}

/** How long the secrets before it may be used beside a new one, in seconds. */
export const OVERLAPS = [
  { value: '0', label: 'not at all: they end now' },
  { value: '3600', label: 'for 1 hour' },
  { value: '86400', label: 'for 1 day' },
  { value: '604800', label: 'for 7 days' },
] as const

/** A day, as on the command line. */
const DEFAULT_OVERLAP = '86400'

/** A new form. */
export function newRotation(): Rotation {
  return { requestKey: newRequestKey(), overlap: DEFAULT_OVERLAP, hours: '' }
}

/** The form that makes a new secret. It is open where something was wrong with it. */
export function rotation(base: string, { requestKey, overlap, hours, error }: Rotation): Html {
  const errorOf = (name: string) => (error?.field === name ? error.message : undefined)
  return html`<details class="confirm"${error && html` open`}><summary class="button">Rotate secret…</summary>
<form method="post" action="${base}/secrets">${hidden({ request_key: requestKey })}<p class="question">Rotate secret</p>
<div class="consequences"><p>The new secret is shown once. Keep the current ones valid until the new one is in use.</p></div>
${select({ label: 'Current secrets stay valid', name: 'overlap', value: overlap, error: errorOf('overlap') }, OVERLAPS)}
${field({ label: 'Or a number of hours', name: 'hours', type: 'number', value: hours, hint: 'From 1 to 8760. If you fill this in, it replaces the choice above.', error: errorOf('hours') })}
<div class="buttons"><button class="button primary">Rotate</button><button type="button" class="button" data-cancel hidden>Cancel</button></div></form></details>`
}
