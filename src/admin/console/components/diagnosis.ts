import type { Health } from '../../../administration/diagnosis.ts'
import { type Html, html } from '../html.ts'
import { note, type Tone } from './words.ts'

const ANSWERS: Record<Health, readonly [tone: Tone, answer: string]> = {
  well: ['good', 'No problem is known.'],
  doubtful: ['warn', 'There may be a problem.'],
  wrong: ['bad', 'There is a problem.'],
}

/** Whether all is well with a client, and what to do if not. */
export function diagnosisNote({ health, diagnosis }: { health: Health; diagnosis: string }): Html {
  const [tone, answer] = ANSWERS[health]
  return note(tone, html`<p><strong>${answer}</strong> ${diagnosis}</p>`)
}
