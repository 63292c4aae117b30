import type { Application } from '../../../domain/application.ts'
import { type Html, html } from '../html.ts'
import { badge } from './words.ts'

// How lists show applications and suites.

/** How many approved suites a row names. */
const MAX_NAMED = 2

/** The client id, truncated if it does not fit. */
export function clientIdOf({ clientId }: Pick<Application, 'clientId'>): Html {
  return html`<code title="${clientId}">${clientId}</code>`
}

/** An email address that may wrap after a dot or the @. */
export function developerOf({ developerEmail }: Pick<Application, 'developerEmail'>): Html {
  const parts = developerEmail.split(/(?<=[@.])/)
  return html`<bdi class="name" title="${developerEmail}">${parts.map((part, n) => html`${n > 0 && html`<wbr>`}${part}`)}</bdi>`
}

export function statusBadge(status: Application['status']): Html {
  return status === 'active' ? badge('active', 'good') : badge('suspended', 'bad')
}

/** The approved suites of an application: the first two, and the number of the others. */
export function suitesOf(suites: readonly string[]): Html {
  if (suites.length === 0) return badge('none', 'warn')
  const named = suites.slice(0, MAX_NAMED)
  const others = suites.length - MAX_NAMED
  const more = others > 0 && html` <span class="hint" title="${suites.join(', ')}">+${others}</span>`
  return html`${named.map((suite, at) => html`${at > 0 && ' '}<span class="line"><code>${suite}</code>${at === MAX_NAMED - 1 && more}</span>`)}`
}
