import type { AdminContext } from '../context.ts'
import { type Html, html } from './html.ts'

/** How commands are written in the README. */
export const IN_A_CLONE = html`In a clone of the repository, write <code>npm run -s token-server --</code> instead of <code>token-server</code>.`

/** How to get a login link. */
export function loginInstructions({ howToSignIn }: Pick<AdminContext, 'howToSignIn'>): Html {
  if (howToSignIn !== undefined) return html`<p>${howToSignIn}</p>`
  return html`<p>Run <code>token-server console NAME</code> with your operator name where the server’s database can be reached, and open the link it prints. ${IN_A_CLONE}</p>`
}
