import { type Html, html } from '../html.ts'
import { note } from './words.ts'

/** Explains to viewers why a page has no forms. */
export function viewerNote(): Html {
  return note('quiet', html`<p>You are a viewer: you can see everything, but change nothing.</p>`)
}
