import { secretBox } from './components/secret-box.ts'
import { name, time } from './components/words.ts'
import { type Html, html } from './html.ts'
import type { Page, Section } from './layout.ts'

interface NewSecret {
  /** The client id of an application, or the id of a suite. */
  owner: string
  ownerName: string
  clientSecret: string
  /** When all previous secrets have ended. Milliseconds since the epoch. */
  othersEndAt: number
  /** Milliseconds since the epoch. */
  now: number
  /** The path of the owner's page. */
  base: string
  section: Section
  /** How to get a token with it, or to introspect one. */
  use: Html
}

/** Shows a new secret, once. */
export function newSecretPage({
  owner,
  ownerName,
  clientSecret,
  othersEndAt,
  now,
  base,
  section,
  use,
}: NewSecret): Page {
  return {
    title: `A new secret for ${ownerName}`,
    heading: html`<span>A new secret for ${name(ownerName)}</span>`,
    section,
    trail: [{ href: base, label: name(ownerName) }],
    content: html`${secretBox(
      [
        { id: 'client-id', label: 'Client id', value: owner },
        { id: 'client-secret', label: 'Client secret', value: clientSecret },
      ],
      html`<p><strong>Copy the secret now.</strong> When you leave this page, it cannot be shown again. Pass it on in a safe way. ${othersEndAt > now ? html`The previous secrets work until ${time(othersEndAt)} at the latest.` : 'The previous secrets do not work any more.'}</p>`,
    )}
${use}
<div class="buttons"><a class="button primary" href="${base}">Done</a></div>`,
  }
}
