import type { Diagnosis, Health } from '../../../administration/findings.ts'
import { type Html, html, type Part } from '../html.ts'
import { note, type Tone, time } from './words.ts'

const ANSWERS: Record<Health, readonly [tone: Tone, answer: string]> = {
  well: ['good', 'No problem is known.'],
  doubtful: ['warn', 'This may need attention.'],
  wrong: ['bad', 'There is a problem.'],
}

/** The diagnosis of a client: whether there is a problem, and a line for each reason. */
export function diagnosisNote({ health, lines, elsewhere }: Diagnosis): Html {
  const [tone, answer] = ANSWERS[health]
  const said = lines.map(withTimes)
  const text =
    said.length === 1
      ? html`<p><strong>${answer}</strong> ${said}</p>`
      : html`<p><strong>${answer}</strong></p><ul>${said.map((line) => html`<li>${line}</li>`)}</ul>`
  const more =
    elsewhere && html`<details><summary>Does the partner still see errors?</summary><p>${elsewhere}</p></details>`
  return note(tone, html`${text}${more}`)
}

/** When the page was made, and a link to load it again: it does not change by itself. `base`: the path of the page. */
export function asOf(now: number, base: string): Html {
  const iso = new Date(now).toISOString()
  return html`<p class="hint">As of <time data-clock="seconds" datetime="${iso}">${iso.slice(11, 19)} UTC</time> · <a href="${base}">Reload</a></p>`
}

/** Turns timestamps in a text into `<time>` elements, which are shown in the reader's time zone. */
function withTimes(text: string): Part[] {
  return text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/).map((part, at) => {
    // A request id that a client sent may look like a timestamp without being one.
    return at % 2 === 0 || Number.isNaN(Date.parse(part)) ? part : time(Date.parse(part))
  })
}
