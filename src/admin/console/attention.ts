import { type Matter, mattersOf } from '../../administration/attention.ts'
import type { Statistics } from '../../views/statistics.ts'
import { type Html, html, type Part } from '../../web/html.ts'
import { badge, name, section } from './components.ts'
import { withTimes } from './diagnosis.ts'

/** How many items of one kind are shown. */
const SHOWN = 5

/** What needs attention, most serious first and each client once, or a line that says nothing does. */
export function attention(statistics: Statistics): Html {
  const matters = mattersOf(statistics, SHOWN)
  const { bad = [], others = [] } = Object.groupBy(matters, ({ tone }) => (tone === 'bad' ? 'bad' : 'others'))
  const keyOf = ({ place, what }: Matter) => `${place.split('#')[0]} ${what}`
  const items = [...Map.groupBy([...bad, ...others], keyOf).values()].map((same) => {
    const { tone, place, what, subject } = same[0] as Matter
    const title = what === subject?.name ? name(what) : what
    // A part of this page.
    const href = place.replace(/^\/(?=#)/, '')
    return html`<li class="${tone}"><strong><a href="${href}">${title}</a></strong> <span>${same.map(detailOf)}</span></li>`
  })
  if (items.length > 0) return section('attention', 'Needs attention', html`<ul class="matters">${items}</ul>`)
  return html`<p>${statistics.trouble ? badge('Nothing needs attention', 'good') : badge('It is not known yet whether clients have problems')}</p>`
}

/** The page of an application or a suite says what to do. */
function detailOf({ kind, detail, remedy, subject }: Matter): Html {
  const advice = subject && subject.kind !== 'server' ? '' : (remedy ?? '')
  const parts = `${detail} ${advice}`.split('`').map((text, at): Part[] => {
    return at % 2 === 0 ? withTimes(text, kind === 'outage') : [html`<code>${text}</code>`]
  })
  return html`${parts.flat()} `
}
