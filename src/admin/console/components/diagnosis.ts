import type { Diagnosis, Health } from '../../../administration/diagnosis.ts'
import { type Html, html, type Part } from '../html.ts'
import { note, type Tone, time } from './words.ts'

const ANSWERS: Record<Health, readonly [tone: Tone, answer: string]> = {
  well: ['good', 'No problem is known.'],
  doubtful: ['warn', 'There may be a problem.'],
  wrong: ['bad', 'There is a problem.'],
}

/** Whether all is well with a client, and what to do if not: a line for each reason. */
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

/** A text with the moments in it as such, so that they are shown in the reader's zone. */
function withTimes(text: string): Part[] {
  return text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/).map((part, at) => {
    // What a client sent as its request id may look like a moment and be none.
    return at % 2 === 0 || Number.isNaN(Date.parse(part)) ? part : time(Date.parse(part))
  })
}
