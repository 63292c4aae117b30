import { type Html, html, type Part } from '../html.ts'

/** A value with a copy button, which console.js shows. `id`: unique on the page. */
export function copyable(id: string, label: string, value: string): Html {
  return html`<div class="copyable"><p class="copyable-label" id="${id}-label">${label}</p><div class="copyable-value"><code id="${id}">${value}</code><button type="button" class="button small" data-copy="${id}" aria-describedby="${id}-label" hidden>Copy</button></div></div>`
}

/** Values that are shown only once, such as a new secret. `advice`: what to do with them. */
export function secretBox(values: readonly { id: string; label: string; value: string }[], advice: Part): Html {
  return html`<div class="secret" role="group" aria-label="New credentials">${values.map(({ id, label, value }) => copyable(id, label, value))}<div>${advice}</div></div>`
}
