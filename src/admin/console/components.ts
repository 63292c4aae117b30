import type { Made } from '../../administration/audit-trail.ts'
import { type Application, type Labels, labelTexts } from '../../domain/application.ts'
import { ago } from '../../domain/time.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import { icon } from './icons.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'quiet'

export function badge(word: string, tone: Tone = 'quiet'): Html {
  return html`<span class="badge ${tone}">${tone !== 'quiet' && icon(tone)}${word}</span>`
}

/** A name entered by people: with its own text direction, truncated if too long, in full in the tooltip. */
export function name(text: string): Html {
  const [first, ...others] = text.split('@')
  // An email address preferably breaks before its @.
  return html`<bdi class="name" title="${text}">${first}${others.map((part) => html`<wbr>@${part}`)}</bdi>`
}

/** The words of a JSON name: `developer email` for `developer_email`, `URL` for `url`. */
export function words(jsonName: string): string {
  return jsonName.replaceAll('_', ' ').replace('hand over', 'hand-over').replace(/^url$/i, 'URL')
}

/** The words of a JSON name as a label, capitalized. Also accepts plain words. */
export function sentence(jsonName: string): string {
  return words(jsonName.charAt(0).toUpperCase() + jsonName.slice(1))
}

/** A time in milliseconds since the epoch, shown in UTC. console.js converts it to the reader's time zone. No time: `never`. */
export function time(moment: number | null | undefined, never = 'never', withSeconds = false): Html {
  if (moment === undefined || moment === null) return html`<span class="quiet-text">${never}</span>`
  const iso = new Date(moment).toISOString()
  return html`<time datetime="${iso}"${withSeconds && html` data-seconds`}>${iso.slice(0, 10)} ${iso.slice(11, withSeconds ? 19 : 16)} UTC</time>`
}

/** How long before `now` a time was, with the time as a tooltip. No time: `never`. */
export function age(moment: number | null | undefined, now: number, never = 'never'): Html {
  if (moment === undefined || moment === null) return time(moment, never)
  const iso = new Date(moment).toISOString()
  return html`<time datetime="${iso}" data-age title="${iso}">${ago(moment, now)}</time>`
}

/** The time of day of a moment. */
export function clock(moment: number, shown: 'minutes' | 'seconds' = 'minutes'): Html {
  const iso = new Date(moment).toISOString()
  return html`<time data-clock="${shown}" datetime="${iso}">${iso.slice(11, shown === 'seconds' ? 19 : 16)} UTC</time>`
}

/** When the page was generated. */
export function asOf(now: number): Html {
  return html`<p class="hint">As of ${clock(now, 'seconds')}</p>`
}

/** What live.js shows and uses on a live page. `base` is its path; `of` is the query of /live, except on the overview. */
export function liveControls(base: string, of: Readonly<Record<string, string>> = {}): Html {
  return html`<span class="badge good" data-live-state data-of="${new URLSearchParams(of).toString()}" role="status" hidden></span><button type="button" class="button" data-live-pause hidden>Pause</button><a class="button" href="${base}" data-live-reload>Reload</a>`
}

/** Links to pages or to parts of one. `current` is the address of the one that is shown. */
export function links(
  kind: 'sections' | 'tabs' | 'contents',
  label: string,
  all: readonly (readonly [href: string, text: Part])[],
  current?: string,
): Html {
  const items = all.map(
    ([href, text]) => html`<li><a href="${href}"${href === current && html` aria-current="page"`}>${text}</a></li>`,
  )
  return html`<nav class="${kind}" aria-label="${label}"><ul>${items}</ul></nav>`
}

export function statusBadge(status: Application['status']): Html {
  return status === 'active' ? badge('active', 'good') : badge('suspended')
}

/** Labels, each a link to the list of those that have it, at this path. Undefined if there are none. */
export function labelLinks(labels: Labels, list: string): Html | undefined {
  const texts = labelTexts(labels)
  if (texts.length === 0) return
  return html`${texts.map(
    (text) => html` <a class="label" href="${address(list, { label: text })}" title="${text}"><bdi>${text}</bdi></a>`,
  )}`
}

/** How many labels there are, as a link to the page that lists them. Undefined if there are none. */
export function labelCount(labels: Labels, href: string): Html | undefined {
  const texts = labelTexts(labels)
  if (texts.length === 0) return
  const all = texts.join(', ')
  return html` <a class="label" href="${href}" title="${all}" aria-label="+${texts.length}: ${all}">+${texts.length}</a>`
}

/** A link to a change in the audit. */
export function changeLink({ id, clientId }: Made, text: Part): Html {
  return html`<a href="${`${address('/audit', { subject: clientId, open: String(id) })}#row-${id}`}">${text}</a>`
}

/** A highlighted message. Screen readers announce an error message as soon as the page has loaded. */
export function note(tone: Tone, content: Part): Html {
  return html`<div class="note ${tone}"${tone === 'bad' && html` role="alert"`}>${content}</div>`
}

/** The paragraphs of the documents that explain what is in a form. */
export const HELP: Readonly<Record<string, string>> = {
  suites: 'console.md#suites',
  quota: 'operations/administration.md#token-quota',
  'source addresses': 'operations/administration.md#source-addresses',
  labels: 'operations/administration.md#labels-and-notes',
  'public labels': 'operations/administration.md#public-labels',
  'report only': 'operations/administration.md#source-addresses',
  overlap: 'operations/administration.md#replace-a-secret',
  'hand-over links': 'console.md#a-hand-over-link',
  'federated credentials': 'federated.md#from-a-secret-to-none',
}

/** A question mark that leads to a paragraph of HELP. Undefined if there is none. */
export function help(about: string): Html | undefined {
  const page = HELP[about]
  if (page !== undefined) return html` <a class="help" href="/docs/${page}" aria-label="Help on ${about}">?</a>`
}

export function emptyState(title: string, content: Part): Html {
  return html`<div class="empty"><p class="empty-title">${title}</p>${content}</div>`
}

export function facts(entries: readonly (readonly [string, Part] | undefined | false)[]): Html {
  return html`<dl class="facts">${entries.map(
    (entry) => entry && html`<div><dt>${entry[0]}</dt><dd>${entry[1]}</dd></div>`,
  )}</dl>`
}

export function card(label: string, figure: Part, hint?: Part): Html {
  return html`<div class="card"><p class="card-label">${label}</p><p class="card-figure">${figure}</p>${
    hint && html`<p class="card-hint">${hint}</p>`
  }</div>`
}

export function section(id: string, heading: Part, content: Part, actions?: Part): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<div class="panel-head"><h2 id="${id}">${heading}</h2>${actions && html`<div class="actions">${actions}</div>`}</div>
${content}
</section>`
}

/** The label of a column. `number`: right-aligned; `line`: never wraps. `href`: sorts the rows by it; `order`: they are sorted so. */
export type Column = string | { label: string; kind?: 'number' | 'line'; href?: string; order?: Order | undefined }

export type Order = 'ascending' | 'descending'

export function number(label: string): Column {
  return { label, kind: 'number' }
}

/**
 * A table whose first column is the row header. On narrow screens each row becomes a card. `caption`: for screen readers;
 * `action`: what the buttons at the end of the rows do, which are left out otherwise.
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Part[])[],
  action?: string | false,
): Html {
  const shown: Shown[] = columns.map((column) => (typeof column === 'string' ? { label: column } : column))
  const all = action ? [...shown, { label: action, kind: 'actions' as const }] : shown
  return tableOf(
    html`<caption class="unseen">${caption}</caption>\n`,
    all.map(headerOf),
    rows.map((cells) => all.map((column, n) => (n === 0 ? rowHeader(cells[n]) : cellOf(cells[n], column)))),
  )
}

/** A table of these cells. */
export function tableOf(caption: Part, headers: readonly Html[], rows: readonly (readonly Html[])[]): Html {
  // Explicit roles, because browsers drop the table semantics when CSS turns the rows into cards.
  return html`<div class="table"><table role="table">
${caption}<thead role="rowgroup"><tr role="row">${headers}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells}</tr>\n`)}</tbody>
</table></div>`
}

interface Shown extends Omit<Extract<Column, object>, 'kind'> {
  kind?: 'number' | 'line' | 'actions'
}

function headerOf({ label, kind, href, order }: Shown): Html {
  const text = kind === 'actions' ? html`<span class="unseen">${label}</span>` : label
  return html`<th role="columnheader" scope="col"${kind && html` class="${kind}"`}${order && html` aria-sort="${order}"`}>${
    href === undefined ? text : html`<a href="${href}">${text}</a>`
  }</th>`
}

function rowHeader(cell: Part): Html {
  return html`<th role="rowheader" scope="row">${cell}</th>`
}

export function cellOf(cell: Part, { label, kind }: Pick<Shown, 'label' | 'kind'>): Html {
  return html`<td role="cell"${kind && html` class="${kind}"`} data-label="${label}"><div>${cell}</div></td>`
}

/** Links to the first, the previous and the next page of a list, as far as there are any. Undefined if there is only one page. */
export function pager(hrefs: readonly (string | undefined)[], labels: readonly string[]): Html | undefined {
  if (hrefs.every((href) => href === undefined)) return
  const pages = hrefs.map(
    (href, n) =>
      href !== undefined && html`<a class="button" href="${href}"${n === 2 && html` rel="next"`}>${labels[n]}</a>`,
  )
  return html`<nav class="pager" aria-label="Pages">${pages}</nav>`
}
