import type { ShownSuite } from '../../administration/suites.ts'
import type { Explanation } from '../../administration/why.ts'
import type { Application } from '../../domain/application.ts'
import type { AuditEvent } from '../../domain/audit-event.ts'
import { changesPanel } from './components/changes-panel.ts'
import { asOf, diagnosisNote } from './components/diagnosis.ts'
import { clientIdOf, developerOf, statusBadge } from './components/names.ts'
import { type ChangedNames, namesPanel } from './components/names-panel.ts'
import { refusalsPanel } from './components/refusals-panel.ts'
import type { Rotation } from './components/rotation.ts'
import { secretsPanel } from './components/secrets-panel.ts'
import { pagerFromOldest, table } from './components/table.ts'
import { viewerNote } from './components/viewer.ts'
import { emptyState, facts, name, note, section, time } from './components/words.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'
import { howToCheckTokens } from './registered-suite-page.ts'

export interface ShownSuitePage {
  explanation: Explanation
  suite: ShownSuite
  approved: { applications: readonly Application[]; count: number; next: string | undefined; isFirst: boolean }
  events: readonly AuditEvent[]
  /** Milliseconds since the epoch. */
  now: number
  canChange: boolean
  rotation: Rotation
  names: ChangedNames
  /** The URL at which clients reach this server, and that of the documentation for developers. */
  publicUrl: string
  docsUrl: string | undefined
  /** Why the last form could not be carried out. */
  problem?: string | undefined
}

/** One suite: its status, secrets, approved applications and last changes. */
export function suitePage(shown: ShownSuitePage): Page {
  const { explanation, suite, approved, events, now, canChange, publicUrl, docsUrl, problem } = shown
  const base = path`/suites/${suite.suiteId}`
  const isWell = explanation.health === 'well'
  return {
    title: suite.name,
    heading: name(suite.name),
    section: '/suites',
    trail: [{ href: '/suites', label: 'Suites' }],
    content: html`${problem && note('bad', html`<p>${problem}</p>`)}
${!canChange && viewerNote()}
<div class="columns">
${section('health', 'Status', html`${diagnosisNote(explanation)}${factsOf(suite)}`, asOf(now, base))}
${namesPanel({ action: `${base}/names`, form: shown.names, canChange })}
</div>
${!isWell && refusalsPanel(explanation, now)}
${secretsPanel({ base, secrets: suite.secrets, now, canChange, rotation: shown.rotation })}
${section('gateway', 'How tokens are checked', howToCheckTokens({ suiteId: suite.suiteId, publicUrl, docsUrl }))}
${approvedPanel(base, approved, canChange)}
${isWell && refusalsPanel(explanation, now)}
${changesPanel(suite.suiteId, events)}
${canChange && section('endings', 'Remove this suite', html`<div class="actions"><a class="button danger-quiet" href="${`${base}/remove`}">Remove…</a></div>`)}`,
  }
}

function factsOf({ suiteId, createdAt }: ShownSuite): Html {
  return facts([
    ['Id', html`<code>${suiteId}</code>`],
    ['Registered', time(createdAt)],
  ])
}

const COLUMNS = ['Application', 'Client id', 'Developer', 'Status'].map((label) => ({ label }))

function approvedPanel(
  base: string,
  { applications, count, next, isFirst }: ShownSuitePage['approved'],
  canChange: boolean,
): Html {
  const title = `Approved applications (${count.toLocaleString('en')})`
  if (count === 0) {
    return section(
      'approved',
      title,
      emptyState(
        'No application is approved yet',
        canChange &&
          html`<p>Open each <a href="/applications">application</a> that may use this suite, and tick it under “Approvals”.</p>`,
      ),
    )
  }
  const rows = applications.map((application) => [
    html`<a href="${path`/applications/${application.clientId}`}">${name(application.name)}</a>`,
    clientIdOf(application),
    developerOf(application),
    statusBadge(application.status),
  ])
  return html`${section('approved', title, table('Approved applications, oldest first', COLUMNS, rows))}${pagerFromOldest(
    {
      first: isFirst ? undefined : `${base}#approved`,
      next: next && `${base}?${new URLSearchParams({ after: next })}#approved`,
    },
  )}`
}
