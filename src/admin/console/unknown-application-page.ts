import type { Explanation } from '../../administration/why.ts'
import type { ApplicationNames } from '../../domain/application.ts'
import { refusalsTable } from './components/refusals-table.ts'
import { name, note, section } from './components/words.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'

/** An unknown client id, with similar ones. */
export type Unknown = Pick<Explanation, 'clientId' | 'suite' | 'similarApplications' | 'similarRefusals'>

/** The page for an unknown client id, with suggestions. */
export function unknownApplicationPage(unknown: Unknown, now: number): Page {
  const { clientId, suite, similarApplications, similarRefusals } = unknown
  return {
    title: 'No such application',
    section: '/applications',
    trail: [{ href: '/applications', label: 'Applications' }],
    content: html`${note('warn', html`<p>No application has the client id <code>${clientId}</code>. It may have been removed, or it belongs to another server.</p>`)}
${suite && section('suite', 'Did you mean this suite?', html`<ul><li><a href="${path`/suites/${clientId}`}"><code>${clientId}</code></a> ${name(suite.name)}</li></ul>`)}
${similarApplications.length > 0 && section('similar', 'Did you mean one of these?', linksTo(similarApplications))}
${similarRefusals.length > 0 && section('refusals', 'Refused client ids that look like it', refusalsTable('Refused client ids that look like it, newest first', similarRefusals, { now, withClient: true }))}
<div class="buttons"><a class="button" href="/applications">All applications</a><a class="button" href="${`/audit?${new URLSearchParams({ subject: clientId })}`}">Changes to this client id</a></div>`,
  }
}

function linksTo(applications: readonly ApplicationNames[]): Html {
  return html`<ul>${applications.map(
    (application) =>
      html`<li><a href="${path`/applications/${application.clientId}`}"><code>${application.clientId}</code></a> ${name(application.name)}</li>`,
  )}</ul>`
}
