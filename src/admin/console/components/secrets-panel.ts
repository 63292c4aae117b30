import type { ListedSecret } from '../../../administration/secrets.ts'
import { isImported, isNotShownYet } from '../../../domain/secret.ts'
import { type Html, html, type Part } from '../html.ts'
import { confirm } from './confirm.ts'
import { type Rotation, rotation } from './rotation.ts'
import { table } from './table.ts'
import { age, badge, section, time } from './words.ts'

export interface SecretsPanel {
  /** The path of the owner's page. */
  base: string
  secrets: readonly ListedSecret[]
  /** Milliseconds since the epoch. */
  now: number
  canChange: boolean
  rotation: Rotation
}

const COLUMNS = ['Secret', 'State', 'Ends', 'Created', 'Last used'].map((label) => ({ label }))

/** The secrets of an application or a suite, newest first, without their values. */
export function secretsPanel(panel: SecretsPanel): Html {
  const { secrets, canChange, base } = panel
  const columns = canChange ? [...COLUMNS, { label: 'Revoke', kind: 'actions' as const }] : COLUMNS
  const rows = secrets.toReversed().map((secret) => row(secret, panel))
  const content = table('Secrets, newest first', columns, rows)
  return section('secrets', 'Secrets', content, canChange && rotation(base, panel.rotation))
}

function row(secret: ListedSecret, panel: SecretsPanel): Part[] {
  const { now } = panel
  const { id, createdAt, endsAt, lastUsedAt } = secret
  const cells = [
    html`${id} <span class="hint">${isImported(secret) ? 'imported' : 'generated'}</span>`,
    stateBadge(secret),
    secret.state === 'active' || !isNotShownYet(secret) ? time(endsAt, 'never') : '–',
    html`${time(createdAt)} <span class="hint">${age(createdAt, now)}</span>`,
    age(lastUsedAt, now, 'not used yet'),
  ]
  return panel.canChange ? [...cells, revocation(secret, panel)] : cells
}

function stateBadge(secret: ListedSecret): Html {
  if (isNotShownYet(secret)) return badge('never shown')
  if (secret.state !== 'active') return badge(secret.state)
  return secret.endsAt === null ? badge('active', 'good') : badge('active, ends', 'warn')
}

/** The button that revokes a secret. For the last active one, a checkbox must be ticked as well. */
function revocation({ id, state }: ListedSecret, { base, secrets, now }: SecretsPanel): Html | undefined {
  if (state !== 'active') return
  const active = secrets.filter((secret) => secret.state === 'active')
  const isLast = active.length === 1
  return confirm({
    label: 'Revoke',
    action: `${base}/secrets/${id}/revoke`,
    subject: `secret ${id}`,
    isSmall: true,
    consequences: isLast
      ? html`<p>This is the last active secret. Without it, all requests are refused until you create a new one.</p>
<label class="choice"><input type="checkbox" name="force" value="yes" required><span>Yes, revoke the last secret</span></label>`
      : html`<p>Requests with this secret are refused from now on. This cannot be undone.</p><p>${whatRemains(id, active, now)}</p>`,
  })
}

/** Which active secret was used last, and how long the others stay valid. */
function whatRemains(id: number, active: readonly ListedSecret[], now: number): Html {
  const [used] = active.toSorted((one, other) => (other.lastUsedAt ?? 0) - (one.lastUsedAt ?? 0))
  const who = used?.id === id ? 'This secret' : `Secret ${used?.id}`
  const use = used?.lastUsedAt
    ? html`${who} was used last, ${age(used.lastUsedAt, now)}.`
    : 'None of the active secrets was used yet.'
  const others = active.filter((secret) => secret.id !== id)
  const ends = others.map(({ endsAt }) => endsAt)
  const rest = others.length === 1 ? `Secret ${others[0]?.id} stays valid` : `The ${others.length} others stay valid`
  return ends.includes(null)
    ? html`${use} ${rest}.`
    : html`${use} ${rest} until ${time(Math.max(...ends.map(Number)))}${others.length > 1 && ' at the latest'}.`
}
