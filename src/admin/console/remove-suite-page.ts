import type { ShownSuite } from '../../administration/suites.ts'
import { name } from './components/words.ts'
import { html, path } from './html.ts'
import type { Page } from './layout.ts'

/** Asks for confirmation, and lists the consequences. `approved`: the number of approved applications. */
export function removeSuitePage(suite: ShownSuite, approved: number): Page {
  const { suiteId, secrets } = suite
  const base = path`/suites/${suiteId}`
  return {
    title: `Remove ${suite.name}?`,
    heading: html`<span>Remove ${name(suite.name)}?</span>`,
    section: '/suites',
    trail: [
      { href: '/suites', label: 'Suites' },
      { href: base, label: name(suite.name) },
    ],
    content: html`<form class="panel form" method="post" action="${`${base}/remove`}"><div class="consequences">
<p>This cannot be undone.</p><ul>
<li>${approved === 0 ? 'No application is approved for it.' : `${approved.toLocaleString('en')} ${approved === 1 ? 'application loses its' : 'applications lose their'} approval for it.`}</li>
<li>A gateway that asks for <code>${suiteId}</code> gets the answer that there is no such suite, and lets no request through.</li>
<li>Its secrets are deleted: ${secrets.length}. It can no longer use introspection.</li>
</ul></div>
<div class="buttons"><button class="button danger">Remove it</button><a class="button" href="${base}">Keep it</a></div></form>`,
  }
}
