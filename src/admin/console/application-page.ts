import type { ApplicationInTrouble } from '../../administration/findings.ts'
import type { Explanation } from '../../administration/why.ts'
import type { AuditEvent } from '../../domain/audit-event.ts'
import type { Suite } from '../../domain/suite.ts'
import { approvalsPanel } from './components/approvals-panel.ts'
import { changesPanel } from './components/changes-panel.ts'
import { confirm } from './components/confirm.ts'
import { asOf, diagnosisNote } from './components/diagnosis.ts'
import { statusBadge } from './components/names.ts'
import { type ChangedNames, namesPanel } from './components/names-panel.ts'
import { refusalsPanel } from './components/refusals-panel.ts'
import type { Rotation } from './components/rotation.ts'
import { copyable } from './components/secret-box.ts'
import { secretsPanel } from './components/secrets-panel.ts'
import { tryIt } from './components/try-it.ts'
import { viewerNote } from './components/viewer.ts'
import { age, card, facts, name, note, section, time } from './components/words.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'

export interface ShownApplicationPage {
  explanation: Explanation
  application: ApplicationInTrouble
  /** The suites that it can be approved for. */
  suites: readonly Suite[]
  events: readonly AuditEvent[]
  /** Milliseconds since the epoch. */
  now: number
  canChange: boolean
  rotation: Rotation
  names: ChangedNames
  /** The URL at which clients reach this server. */
  publicUrl: string
  /** Why the last form could not be carried out. */
  problem?: string | undefined
}

/** One application: its status, approvals, secrets and last changes. */
export function applicationPage(shown: ShownApplicationPage): Page {
  const { explanation, application, suites, events, now, canChange, publicUrl, problem } = shown
  const { clientId, lastTokenAt } = application
  const use = tryIt({ ...application, publicUrl })
  const base = path`/applications/${clientId}`
  return {
    title: application.name,
    heading: html`${name(application.name)} ${statusBadge(application.status)}`,
    section: '/applications',
    trail: [{ href: '/applications', label: 'Applications' }],
    actions: canChange && statusChange(application, base),
    content: html`${problem && note('bad', html`<p>${problem}</p>`)}
${!canChange && viewerNote()}
${section('health', 'Status', html`${diagnosisNote(explanation)}${figures(application, now)}${factsOf(application)}`, asOf(now, base))}
${lastTokenAt === undefined && use}
${refusalsPanel(explanation, now)}
<div class="columns">
${approvalsPanel({ base, application, suites, canChange })}
${namesPanel({ action: `${base}/names`, form: shown.names, canChange })}
</div>
${secretsPanel({ base, secrets: application.secrets, now, canChange, rotation: shown.rotation })}
${lastTokenAt !== undefined && use}
${changesPanel(clientId, events)}
${canChange && destructiveActions(application, base)}`,
  }
}

function statusChange({ status, name }: ApplicationInTrouble, base: string): Html {
  if (status === 'suspended') {
    return html`<form method="post" action="${`${base}/resume`}"><button class="button primary">Resume</button></form>`
  }
  return confirm({
    label: 'Suspend',
    action: `${base}/suspend`,
    subject: name,
    consequences: html`<p>From the next request on it gets no tokens, and the tokens that it has are refused. You can resume it at any time.</p>`,
  })
}

function figures(application: ApplicationInTrouble, now: number): Html {
  const { lastTokenAt, tokensThisHour, refusedThisHour, suites, secrets } = application
  const active = secrets.filter(({ state }) => state === 'active').length
  return html`<div class="cards">
${card('Last token', age(lastTokenAt, now), lastTokenAt === undefined ? 'A new one shows up within a minute.' : time(lastTokenAt))}
${card('Tokens this hour', tokensThisHour.toLocaleString('en'), refusedThisHour > 0 && `${refusedThisHour.toLocaleString('en')} more refused by the quota`)}
${card('Active secrets', active, html`<a href="#secrets">${secrets.length === active ? 'Secrets' : `${secrets.length} in all`}</a>`)}
${card('Approved suites', suites.length, html`<a href="#approvals">Approvals</a>`)}
</div>`
}

function factsOf({ clientId, developerEmail, createdAt, tokensValidFrom }: ApplicationInTrouble): Html {
  return html`${copyable('client-id', 'Client id', clientId)}${facts([
    ['Developer email', html`<bdi>${developerEmail}</bdi>`],
    ['Registered', time(createdAt)],
    tokensValidFrom > 0 && ['All tokens revoked', time(tokensValidFrom)],
  ])}`
}

function destructiveActions({ name, status }: ApplicationInTrouble, base: string): Html {
  return section(
    'endings',
    'Revoke or remove',
    html`<div class="actions">${confirm({
      label: 'Revoke all tokens',
      action: `${base}/revoke-tokens`,
      subject: `of ${name}`,
      consequences: html`<p>All tokens issued to it so far are refused from the next check on.${
        status === 'active' && ' It can ask for new ones at once.'
      } This cannot be undone.</p>`,
    })}<a class="button danger-quiet" href="${`${base}/remove`}">Remove…</a></div>`,
  )
}
