import { type Html, html, type Part } from '../html.ts'

export interface Column {
  label: string
  /** `number`: right-aligned; `actions`: buttons at the end of the row; `line`: never wraps. */
  kind?: 'number' | 'actions' | 'line'
}

/**
 * A table whose first column is the row header. On narrow screens each row becomes a card. `caption`: for screen readers.
 */
export function table(caption: string, columns: readonly Column[], rows: readonly (readonly Part[])[]): Html {
  // Explicit roles, because browsers drop the table semantics when CSS turns the rows into cards.
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

type Url = string | undefined

/** Links to the other pages of a list, oldest first. Undefined if there is only one page. */
export function pagerFromOldest({ first, next }: { first: Url; next: Url }): Html | undefined {
  return pages([first, 'Oldest'], [next, 'Newer'])
}

/** Links to the other pages of a list, newest first. Undefined if there is only one page. */
export function pager({ newest, older }: { newest?: Url; older?: Url }): Html | undefined {
  return pages([newest, 'Newest'], [older, 'Older'])
}

function pages([first, firstLabel]: [Url, string], [next, nextLabel]: [Url, string]): Html | undefined {
  if (first === undefined && next === undefined) return
  return html`<nav class="pager" aria-label="Pages">${first !== undefined && html`<a class="button" href="${first}">${firstLabel}</a>`}${
    next !== undefined && html`<a class="button" href="${next}" rel="next">${nextLabel}</a>`
  }</nav>`
}
