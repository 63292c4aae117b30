import { type Html, html } from '../../web/html.ts'

const CIRCLE = 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0'

/** Lines in a square of 16 units: of the sections by their labels, of states by their tones, and of buttons. */
const ICONS = {
  Overview: 'M2 14h12M3.5 11V8M8 11V3M12.5 11V6',
  Applications: 'M2 3h12v10H2zM2 6h12',
  Suites: 'm8 2 6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3',
  Secrets: 'M8.5 10.5a3 3 0 1 1-6 0 3 3 0 0 1 6 0M7.6 8.4 14 2M11 5l2 2',
  Refusals: `${CIRCLE}M3.8 3.8l8.4 8.4`,
  Audit: `${CIRCLE}M8 4.5V8l2.5 1.5`,
  Operators: 'M10.5 5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0M3 14c0-3 2-4.5 5-4.5s5 1.5 5 4.5',
  About: `${CIRCLE}M8 7.5V11M8 5v.1`,
  good: 'M3 8.5 6.5 12 13 4.5',
  warn: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 12v.1',
  bad: 'm4 4 8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  edit: 'm3 13 .7-3L11 2.7 13.3 5 6 12.3z',
  elsewhere: 'M9 2.5h4.5V7M13.5 2.5 7 9M11.5 9.5v4h-9v-9h4',
  remove: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9',
  undo: 'm5.5 3-3 3 3 3M2.5 6H9a4 4 0 0 1 0 8H6',
}

/** A picture beside a text that says the same. */
export function icon(name: keyof typeof ICONS): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`
}
