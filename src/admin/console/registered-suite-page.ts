import type { RegisteredSuite } from '../../administration/suites.ts'
import { copyable, secretBox } from './components/secret-box.ts'
import { introspectionCommand, useCommand } from './components/try-it.ts'
import { name, note, section } from './components/words.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'

interface Registered {
  /** `notApproved`: the number of applications, none of which is approved yet. */
  suite: RegisteredSuite & { notApproved: number }
  publicUrl: string
  /** The documentation for developers. */
  docsUrl: string | undefined
}

/** Shows the credentials of a new suite, once. */
export function registeredSuitePage({ suite, publicUrl, docsUrl }: Registered): Page {
  const { suiteId, clientSecret, notApproved } = suite
  return {
    title: `${suite.name} is registered`,
    heading: html`<span>${name(suite.name)} is registered</span>`,
    section: '/suites',
    trail: [{ href: '/suites', label: 'Suites' }],
    content: html`${secretBox(
      [
        { id: 'client-id', label: 'Client id', value: suiteId },
        { id: 'client-secret', label: 'Client secret', value: clientSecret },
      ],
      html`<p><strong>Copy the secret now.</strong> When you leave this page, it cannot be shown again. It is needed for introspection, not for the gateway check.</p>`,
    )}
${notApproved > 0 && note('warn', html`<p>No application is approved for it yet (there ${notApproved === 1 ? 'is 1' : `are ${notApproved.toLocaleString('en')}`}). Tick it under Approvals of each that may use it.</p>`)}
${section('gateway', 'How tokens are checked', howToCheckTokens({ suiteId, clientSecret, publicUrl, docsUrl }))}
<div class="buttons"><a class="button primary" href="${path`/suites/${suiteId}`}">Go to the suite</a></div>`,
  }
}

interface HowToCheckTokens {
  suiteId: string
  /** Undefined unless the secret is new. */
  clientSecret?: string
  publicUrl: string
  docsUrl: string | undefined
}

/** How to check tokens for a suite: through a gateway, or with introspection. */
export function howToCheckTokens({ suiteId, clientSecret, publicUrl, docsUrl }: HowToCheckTokens): Html {
  return html`<div class="prose"><p>A gateway in front of the suite sends the Authorization header of each request to this address, and lets the request through if the answer is 200:</p></div>
${copyable('verify', 'Gateway check', `${publicUrl}${path`/v1/oauth/verify/${suiteId}`}`)}
${copyable('use', 'Try it in a terminal, with the token of an approved application', useCommand(suiteId, publicUrl))}
<div class="prose"><p>A suite that checks tokens itself uses introspection (RFC 7662), with its client id and secret:</p></div>
${copyable('introspect', 'Introspection', `${publicUrl}/v1/oauth/introspect`)}
${introspectionCommand({ clientId: suiteId, clientSecret, publicUrl })}
${docsUrl && html`<p><a href="${docsUrl}" rel="noreferrer">Read more</a></p>`}`
}
