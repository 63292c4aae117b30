import { type Html, html, type Part } from '../html.ts'

export interface Column {
  label: string
  /** Figures stand on the right, what can be done at the end; a line is not broken. */
  kind?: 'number' | 'actions' | 'line'
}

/**
 * A table whose first column names the row. Where there is no room each row becomes a card. `caption` says what it shows, to
 * those who do not see it.
 */
export function table(caption: string, columns: readonly Column[], rows: readonly (readonly Part[])[]): Html {
  // A browser forgets that it is a table where the rows are shown as cards: the roles say it.
  return html`<div class="table"><table role="table">
<caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ label, kind }) =>
      html`<th role="columnheader" scope="col"${kind && html` class="${kind}"`}>${
        kind === 'actions' ? html`<span class="unseen">${label}</span>` : label
      }</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${columns.map((column, n) => cellOf(cells[n], column, n))}</tr>\n`)}</tbody>
</table></div>`
}

function cellOf(cell: Part, { label, kind }: Column, n: number): Html {
  if (n === 0) return html`<th role="rowheader" scope="row">${cell}</th>`
  return html`<td role="cell"${kind && html` class="${kind}"`} data-label="${label}"><div>${cell}</div></td>`
}

/** The ways to the other pages of a list that begins with the oldest. Undefined: there is none. */
export function pagerFromOldest({
  first,
  next,
}: {
  first: string | undefined
  next: string | undefined
}): Html | undefined {
  return pages([first, 'Oldest'], [next, 'Newer'])
}

/** The ways to the other pages of a list, from the newest to the oldest. Undefined: there is none. */
export function pager({
  newest,
  older,
}: {
  newest?: string | undefined
  older?: string | undefined
}): Html | undefined {
  return pages([newest, 'Newest'], [older, 'Older'])
}

type Way = readonly [href: string | undefined, label: string]

function pages([first, toFirst]: Way, [next, toNext]: Way): Html | undefined {
  if (first === undefined && next === undefined) return
  return html`<nav class="pager" aria-label="Pages">${first !== undefined && html`<a class="button" href="${first}">${toFirst}</a>`}${
    next !== undefined && html`<a class="button" href="${next}" rel="next">${toNext}</a>`
  }</nav>`
}
