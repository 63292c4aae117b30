import type { ShownApplication } from '../../administration/applications.ts'
import { name, time } from './components/words.ts'
import { html, path } from './html.ts'
import type { Page } from './layout.ts'

/** Asks for confirmation, and lists the consequences. */
export function removeApplicationPage(application: ShownApplication): Page {
  const { clientId, secrets, suites, lastTokenAt } = application
  const base = path`/applications/${clientId}`
  const active = secrets.filter(({ state }) => state === 'active').length
  return {
    title: `Remove ${application.name}?`,
    heading: html`<span>Remove ${name(application.name)}?</span>`,
    section: '/applications',
    trail: [
      { href: '/applications', label: 'Applications' },
      { href: base, label: name(application.name) },
    ],
    content: html`<form class="panel form" method="post" action="${`${base}/remove`}"><div class="consequences">
<p>This cannot be undone.</p><ul>
<li>It gets no more tokens, and all tokens that it has are refused from the next check on.</li>
<li>Its secrets are deleted: ${secrets.length}, of which ${active} ${active === 1 ? 'is' : 'are'} active.</li>
<li>Its approvals are deleted: ${suites.length}.</li>
<li>Last token issued: ${time(lastTokenAt)}.</li>
<li>The audit keeps what was done with <code>${clientId}</code>.</li>
</ul><p>To stop it only for a while, suspend it instead.</p></div>
<div class="buttons"><button class="button danger">Remove it</button><a class="button" href="${base}">Keep it</a></div></form>`,
  }
}
