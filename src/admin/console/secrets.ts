import type { FastifyRequest } from 'fastify'
import type { Authors } from '../../administration/audit-trail.ts'
import { type BrowsedSecret, type ListedSecret, nounOf, replacedSecrets } from '../../administration/secrets.ts'
import { labelTexts } from '../../domain/application.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { HOUR } from '../../domain/usage.ts'
import { type Client, curl, quoted } from '../../web/curl.ts'
import { type Html, html, type Part, path } from '../../web/html.ts'
import { snippets } from '../../web/snippets.ts'
import type { About, AdminContext } from '../context.ts'
import { idOf } from '../wire/routing.ts'
import { age, badge, changeLink, facts, help, note, section, sentence, table, time } from './components.ts'
import {
  assertNameTyped,
  canChange,
  confirm,
  type FieldState,
  field,
  fieldsOf,
  hidden,
  idempotencyOf,
  newRequestKey,
  redirectDone,
  select,
} from './forms.ts'
import { icon } from './icons.ts'
import { showPage } from './layout.ts'
import { assertNewSignIn } from './login.ts'
import { headBelow, type OwnerForms, type Owners } from './owner.ts'

export function changeSecrets(onForm: OwnerForms, context: AdminContext, { parent }: Owners): void {
  onForm('secrets', async ({ params: { id }, owner, base, request, reply, secrets }) => {
    const repeatable = { idempotency: idempotencyOf(request) }
    const overlap = overlapIn(request.body)
    if (overlap === 0) assertNewSignIn(context, request, base)
    const { clientSecret, othersEndAt } = await secrets.rotate(id, overlap, repeatable)
    const client = { clientId: id, clientSecret, ...context.about.urls }
    const advice = html`Pass it on in a safe way. ${othersEndAt > context.now() ? html`The previous secrets work until ${time(othersEndAt)} at the latest.` : 'The previous secrets do not work any more.'}`
    return showPage(reply, {
      ...headBelow(parent, base, ['A new secret for ', owner.name]),
      content: html`${newCredentials(base, client, advice)}
${'suites' in owner ? tryIt({ ...client, suites: owner.suites }) : introspectionCommand(client)}
<div class="buttons"><a class="button primary" href="${base}">Done</a></div>`,
    })
  })

  onForm('secrets/:secret_id/revoke', async ({ params, owner, base, request, reply, secrets }) => {
    assertNewSignIn(context, request, base)
    const secretId = idOf(params.secret_id)
    const force = fieldsOf(request.body).text('force') === 'yes'
    if (force) assertNameTyped(request, owner.name)
    await secrets.revoke(params.id, secretId, { force })
    const isFederated = owner.secrets.some(({ id, federated }) => id === secretId && federated)
    return redirectDone(reply, base, isFederated ? 'credential-revoked' : 'secret-revoked')
  })
}

const OVERLAPS = [
  { value: '0', label: 'not at all: they end now' },
  { value: '3600', label: 'for 1 hour' },
  { value: '86400', label: 'for 1 day' },
  { value: '604800', label: 'for 7 days' },
] as const

/** A day, as on the command line. */
const DEFAULT_OVERLAP = '86400'

/** 365 days, as on the command line. */
const MAX_HOURS = 8760

/** How long previous secrets stay valid, in milliseconds. Hours take precedence. Throws OperatorError. */
export function overlapIn(body: unknown): number {
  const { text } = fieldsOf(body)
  const [overlap, hours] = [text('overlap'), text('hours')]
  if (hours === '' && OVERLAPS.some(({ value }) => value === overlap)) return Number(overlap) * 1000
  const count = /^\d{1,5}$/.test(hours) ? Number(hours) : 0
  if (count >= 1 && count <= MAX_HOURS) return count * HOUR
  const message = `It must be a whole number of hours: 1 to ${MAX_HOURS}`
  throw new OperatorError(`${message}.`, { kind: 'invalid', fields: [{ field: 'hours', message }] })
}

interface SecretsPanel {
  base: string
  /** The name of the application or the suite. */
  name: string
  secrets: readonly ListedSecret[]
  authors: Authors
  now: number
  request: FastifyRequest
  /** Whether the form can make a hand-over link, too. Undefined for suites. */
  handsOver?: boolean
  /** The form that adds a federated credential. */
  federated?: Html
  hours: FieldState
}

export const SECRET_COLUMNS = ['Secret', 'State', 'Ends', 'Created', 'Last used'].map((label) => ({
  label,
  kind: 'line' as const,
}))

/** The secrets of an application or a suite, newest first, without their values. */
export function secretsPanel(panel: SecretsPanel): Html {
  const mayChange = canChange(panel.request)
  const rows = panel.secrets
    .toReversed()
    .map((secret) => [...secretCells(secret, panel.now, panel.authors), revocation(secret, panel)])
  const replaced = replacedSecrets(panel.secrets, panel.now).map(({ id }) => id)
  const advice =
    replaced.length > 0 &&
    note(
      'good',
      html`<p>A federated credential is in use, and no secret was used for a week. Revoke what is not needed any more: secret ${replaced.join(', ')}.</p>`,
    )
  const content = html`${advice}${table('Secrets, newest first', SECRET_COLUMNS, rows, mayChange && 'Revoke')}${rules(panel.secrets)}`
  return section('secrets', 'Secrets', content, mayChange && html`${rotation(panel)}${panel.federated}`)
}

function rotation({ base, name, secrets, request, handsOver, hours: state }: SecretsPanel): Html {
  const { text } = fieldsOf(state.error ? request.body : undefined)
  return html`<details class="confirm"${state.error && html` open`}><summary class="button">Rotate secret…</summary>
<form method="post" action="${base}/secrets">${hidden({ request_key: newRequestKey() })}<p class="question" id="rotate">Rotate the secret of ${name}?</p>
<div class="consequences"><p>The new secret is shown once${handsOver && html`: to you, or to the developer who opens a hand-over link${help('hand-over links')} within an hour, so that you need not send it`}. Keep the current ones valid until the new one is in use.${help('overlap')}</p>${endings(secrets)}${handsOver === false && html`<p class="hint">To send it by a link that shows it once: <a href="/about#HANDOVER"><code>HANDOVER=on</code></a></p>`}</div>
${select({ label: 'Current secrets stay valid', name: 'overlap', value: text('overlap') || DEFAULT_OVERLAP }, OVERLAPS)}
${field({ label: 'Or a number of hours', name: 'hours', type: 'number', value: text('hours'), hint: 'From 1 to 8760. If you fill this in, it replaces the choice above.', ...state })}
<div class="buttons"><button class="button primary">Rotate</button>${handsOver && html`<button class="button" formaction="${`${base}/hand-over-links`}">Make a hand-over link</button>`}<button type="button" class="button" data-cancel hidden>Cancel</button></div></form></details>`
}

/** The secrets that a rotation ends, if there are several: one of them may be the new one already. */
function endings(secrets: readonly ListedSecret[]): Html | false {
  const active = secrets.filter(({ state, federated }) => state === 'active' && !federated)
  const ends = active.map(
    ({ id, endsAt }) => html`<li>Secret ${id}${endsAt !== null && html`, until ${time(endsAt)}`}</li>`,
  )
  return active.length > 1 && html`<p>All of these end then, if not before:</p><ul>${ends}</ul>`
}

/** The cells of SECRET_COLUMNS. `authors`: who ended them. */
export function secretCells(secret: ListedSecret | BrowsedSecret, now: number, authors?: Authors): Part[] {
  const { id, origin, createdAt, endsAt, revokedAt, lastUsedAt, lastUsedFrom, federated } = secret
  const author = endsAt === null ? undefined : authors?.get(id)
  const verb = revokedAt === null ? 'end set' : 'revoked'
  return [
    html`${nounOf(secret)} ${id} <span class="hint">· ${origin}</span>${federated && html` <code title="${federated.subject}">${federated.subject}</code>`}`,
    stateBadge(secret),
    html`${time(endsAt)}${author && html`<div class="hint">${changeLink(author, html`${verb} by <bdi>${author.by}</bdi>, ${time(author.at)}`)}</div>`}`,
    age(createdAt, now),
    html`${age(lastUsedAt, now, 'not used yet')}${lastUsedFrom && html` <span class="hint">from ${lastUsedFrom}</span>`}`,
  ]
}

/** What the JWTs of the active federated credentials must have. Undefined if there are none. */
export function rules(secrets: readonly Pick<ListedSecret, 'id' | 'state' | 'federated'>[]): Html | undefined {
  const active = secrets.filter(({ state }) => state === 'active')
  const entries = active.flatMap(({ id, federated }) => {
    if (!federated) return []
    const { issuer: iss, subject: sub, audience: aud = null, claims, keys } = federated
    const names = labelTexts({ iss, sub, ...(aud !== null && { aud }), ...claims })
    const text = [...names, ...(keys ? [`Given keys: ${keys.length}`] : [])].join('\n')
    return [[`Credential ${id}`, html`<div class="lines">${text}</div>`] as const]
  })
  if (entries.length > 0) return facts(entries)
}

function stateBadge({ state, endsAt }: Pick<ListedSecret, 'state' | 'endsAt'>): Html {
  if (state !== 'active') return badge(state)
  return endsAt === null ? badge('active', 'good') : badge('active, ends', 'warn')
}

function revocation(secret: ListedSecret, { base, name, secrets, now, request }: SecretsPanel): Html | undefined {
  const { id, state } = secret
  if (state !== 'active') return
  const active = secrets.filter((one) => one.state === 'active')
  const isLast = active.length === 1
  const action = `${base}/secrets/${id}/revoke`
  return confirm({
    label: 'Revoke',
    action,
    subject: `${nounOf(secret)} ${id}`,
    typed: isLast ? { name, isWrong: request.url === action } : undefined,
    consequences: isLast
      ? html`<p>This is the last active ${nounOf(secret)}. Without it, all requests are refused until you create a new one.</p>${hidden({ force: 'yes' })}`
      : html`<p>Requests with this ${nounOf(secret)} are refused from now on. This cannot be undone.</p><p>${whatRemains(id, active, now)}</p>`,
  })
}

/** Which active secret was used last, and how long the others stay valid. */
function whatRemains(id: number, active: readonly ListedSecret[], now: number): Html {
  const [used] = active.toSorted((one, other) => (other.lastUsedAt ?? 0) - (one.lastUsedAt ?? 0))
  const who = used?.id === id ? `This ${nounOf(used)}` : sentence(`${nounOf(used)} ${used?.id}`)
  const use = used?.lastUsedAt
    ? html`${who} was used last, ${age(used.lastUsedAt, now)}.`
    : 'None of the active secrets has been used yet.'
  const others = active.filter((secret) => secret.id !== id)
  const ends = others.map(({ endsAt }) => endsAt)
  const rest =
    others.length === 1
      ? `${sentence(nounOf(others[0]))} ${others[0]?.id} stays valid`
      : `The ${others.length} others stay valid`
  return ends.includes(null)
    ? html`${use} ${rest}.`
    : html`${use} ${rest} until ${time(Math.max(...ends.map(Number)))}${others.length > 1 && ' at the latest'}.`
}

/** Shows a new secret, once. `base` is the page of its owner. */
export function newCredentials(
  base: string,
  { clientId, clientSecret }: Record<'clientId' | 'clientSecret', string>,
  advice: Part,
): Html {
  return html`<div class="secret" role="group" aria-label="New credentials" data-left="${base}?done=secret-shown">${copyable('client-id', 'Client id', clientId)}${copyable('client-secret', 'Client secret', clientSecret)}<div><p><strong>Copy the secret now.</strong> When you leave this page, it cannot be shown again. ${advice}</p></div></div>`
}

/** A value with a copy button, which console.js shows. `id` is unique on the page. */
export function copyable(id: string, label: string, value: string): Html {
  return html`<div class="copyable"><p class="copyable-label" id="${id}-label">${label}</p><div class="copyable-value"><code id="${id}"${value.includes('\n') && html` tabindex="0"`}>${value}</code><button type="button" class="button" data-copy="${id}" aria-describedby="${id}-label" hidden>${icon('copy')}<span>Copy</span></button></div></div>`
}

export function tryIt(use: Client & { publicUrl: string; suites: readonly string[] }): Html {
  const { publicUrl, suites, ...client } = use
  const [suiteId] = suites
  const url = `${publicUrl}/v1/oauth/accesstoken`
  const command = curl(url, 'grant_type=client_credentials', client)
  const programs = snippets({ url, ...client }).map(
    ({ language, program }, n) =>
      html`<details><summary>${language}</summary>${copyable(`program-${n}`, 'The program', program)}</details>\n`,
  )
  const content = html`${copyable('curl', 'In a terminal', command)}
<div><p class="copyable-label">In a program. It reads the secret from the environment, as CLIENT_SECRET, and prints the answer. Keep the token for its expires_in seconds.</p>
${programs}</div>
${suiteId !== undefined && copyable('use', `Use it at ${suiteId}, with the access_token of the answer`, useCommand(suiteId, publicUrl))}`
  return section('try', 'Get a token', content)
}

/** How to check tokens for a suite: through a gateway, or with introspection. */
export function howToCheckTokens(suite: Client & Omit<About['urls'], 'opsUrl'>): Html {
  const { clientId: suiteId, publicUrl, introspectionUrl, docsUrl } = suite
  return html`<div class="prose"><p>A gateway in front of the suite sends the Authorization header of each request to this address, and lets the request through if the answer is 200:</p></div>
${copyable('verify', 'Gateway check', verifyUrl(suiteId, publicUrl))}
${copyable('use', 'Try it in a terminal, with the token of an approved application', useCommand(suiteId, publicUrl))}
<div class="prose"><p>A suite that checks tokens itself uses introspection (RFC 7662), with its client id and secret:</p></div>
${copyable('introspect', 'Introspection', introspectionUrl)}
${introspectionCommand(suite)}
${docsUrl && html`<p><a href="${docsUrl}" rel="noreferrer">Read more ${icon('elsewhere')}</a></p>`}`
}

function introspectionCommand(suite: Client & Pick<About['urls'], 'introspectionUrl'>): Html {
  const command = curl(suite.introspectionUrl, 'token=ACCESS_TOKEN', suite)
  return copyable('introspect-curl', 'Try it in a terminal, with the token of an approved application', command)
}

/** The command that checks a token at a suite, as a gateway does. */
function useCommand(suiteId: string, publicUrl: string): string {
  return `curl -i ${quoted(verifyUrl(suiteId, publicUrl))} \\\n  -H "Authorization: Bearer ACCESS_TOKEN"`
}

function verifyUrl(suiteId: string, publicUrl: string): string {
  return `${publicUrl}${path`/v1/oauth/verify/${suiteId}`}`
}
