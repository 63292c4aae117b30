import { type Html, html } from '../html.ts'
import { note } from './words.ts'

/** Why there is nothing to change on a page. */
export function viewerNote(): Html {
  return note('quiet', html`<p>You are a viewer: you can see everything, but change nothing.</p>`)
}
