import { ago } from '../../../administration/age.ts'
import { type Html, html, type Part } from '../html.ts'

/** How something is: each has a colour and a sign of its own, beside the word. */
export type Tone = 'good' | 'warn' | 'bad' | 'quiet'

/** A state in a word or two, with a colour and a sign. */
export function badge(word: string, tone: Tone = 'quiet'): Html {
  return html`<span class="badge ${tone}">${word}</span>`
}

/** A name that people chose: in its own direction, cut where there is no room, whole when pointed at. */
export function name(text: string): Html {
  return html`<bdi class="name" title="${text}">${text}</bdi>`
}

/** A moment, in milliseconds since the epoch: in UTC, and by assets/console.js in the reader's zone. Undefined: never. */
export function time(moment: number | null | undefined, never = 'never'): Html {
  if (moment === undefined || moment === null) return html`<span class="quiet-text">${never}</span>`
  const iso = new Date(moment).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

/** How long ago a moment was, which assets/console.js keeps up to date; the moment itself when pointed at. Undefined: never. */
export function age(moment: number | null | undefined, now: number, never = 'never'): Html {
  if (moment === undefined || moment === null) return time(moment, never)
  const iso = new Date(moment).toISOString()
  return html`<time datetime="${iso}" data-age="${Math.max(now - moment, 0)}" title="${iso}">${ago(moment, now)}</time>`
}

/** One or two sentences that stand out. What is bad is read out by screen readers as soon as the page is there. */
export function note(tone: Tone, content: Part): Html {
  return html`<div class="note ${tone}"${tone === 'bad' && html` role="alert"`}>${content}</div>`
}

/** Where nothing is to be seen yet: why, and what to do next. */
export function emptyState(title: string, content: Part): Html {
  return html`<div class="empty"><p class="empty-title">${title}</p>${content}</div>`
}

/** A list of facts. What is undefined is left out. */
export function facts(entries: readonly (readonly [string, Part] | undefined | false)[]): Html {
  return html`<dl class="facts">${entries.map(
    (entry) => entry && html`<div><dt>${entry[0]}</dt><dd>${entry[1]}</dd></div>`,
  )}</dl>`
}

/** A figure with its name. `hint`: where it comes from, or what it means. */
export function card(label: string, figure: Part, hint?: Part): Html {
  return html`<div class="card"><p class="card-label">${label}</p><p class="card-figure">${figure}</p>${
    hint && html`<p class="card-hint">${hint}</p>`
  }</div>`
}

/** A part of a page under a heading of its own. `id` is what links lead to. */
export function section(id: string, heading: Part, content: Part, actions?: Part): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<div class="panel-head"><h2 id="${id}">${heading}</h2>${actions && html`<div class="actions">${actions}</div>`}</div>
${content}
</section>`
}
