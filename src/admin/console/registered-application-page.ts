import type { RegisteredApplication } from '../../administration/applications.ts'
import { secretBox } from './components/secret-box.ts'
import { tryIt } from './components/try-it.ts'
import { name, note } from './components/words.ts'
import { html, path } from './html.ts'
import type { Page } from './layout.ts'

/** Shows the credentials of a new application, once. `publicUrl`: the URL at which clients reach this server. */
export function registeredApplicationPage(
  { clientId, clientSecret = '', name: named, suites }: RegisteredApplication & { suites: readonly string[] },
  publicUrl: string,
): Page {
  const address = path`/applications/${clientId}`
  return {
    title: `${named} is registered`,
    heading: html`<span>${name(named)} is registered</span>`,
    section: '/applications',
    trail: [{ href: '/applications', label: 'Applications' }],
    content: html`${secretBox(
      [
        { id: 'client-id', label: 'Client id', value: clientId },
        { id: 'client-secret', label: 'Client secret', value: clientSecret },
      ],
      html`<p><strong>Copy the secret now.</strong> When you leave this page, it cannot be shown again. Send both to the developer in a safe way. If the secret is lost, rotate it to get a new one.</p>`,
    )}
${suites.length === 0 && note('warn', html`<p>It is not approved for any suite yet, so its tokens are not valid anywhere.</p>`)}
${tryIt({ clientId, clientSecret, suites, publicUrl })}
<div class="buttons"><a class="button primary" href="${address}">Go to the application</a><a class="button" href="/new-application">Register another one</a></div>`,
  }
}
