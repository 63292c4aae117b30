import type { Application } from '../../../domain/application.ts'
import { type Html, html } from '../html.ts'
import { badge } from './words.ts'

// What applications and suites are called, wherever they are listed.

/** So many of the suites that an application is approved for are named in a list. */
const NAMED = 2

/** The client id, cut where there is no room. */
export function clientIdOf({ clientId }: Pick<Application, 'clientId'>): Html {
  return html`<code title="${clientId}">${clientId}</code>`
}

/** An email address, which is broken behind a dot or the @ where there is no room. */
export function developerOf({ developerEmail }: Pick<Application, 'developerEmail'>): Html {
  const parts = developerEmail.split(/(?<=[@.])/)
  return html`<bdi class="name" title="${developerEmail}">${parts.map((part, n) => html`${n > 0 && html`<wbr>`}${part}`)}</bdi>`
}

export function statusBadge(status: Application['status']): Html {
  return status === 'active' ? badge('active', 'good') : badge('suspended', 'bad')
}

/** The suites that an application is approved for: the first ones by name. */
export function suitesOf(suites: readonly string[]): Html {
  if (suites.length === 0) return badge('none', 'warn')
  const named = suites.slice(0, NAMED)
  const others = suites.length - NAMED
  const more = others > 0 && html` <span class="hint" title="${suites.join(', ')}">+${others}</span>`
  return html`${named.map((suite, at) => html`${at > 0 && ' '}<span class="line"><code>${suite}</code>${at === NAMED - 1 && more}</span>`)}`
}
