import type { FastifyRequest } from 'fastify'
import { DAY } from '../../domain/usage.ts'
import type { Statistics } from '../../views/statistics.ts'
import { curl } from '../../web/curl.ts'
import { gateways } from '../../web/gateways.ts'
import { type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { badge, section } from './components.ts'
import { canChange, hidden } from './forms.ts'
import { copyable } from './secrets.ts'

/** An installation whose first suite is older than this is not new. */
const NEW_MS = 30 * DAY

/** `page`: the document that says more. `live`: the name of its badge, if live.js ticks it off. */
type Step = readonly [title: string, isDone: boolean, page: string, how: Part, live?: string]

const REGISTER_SUITE = html`<p>A suite is an API that checks tokens. <a href="/new-suite">Register a suite</a></p>`
const REGISTER = html`<p>An application is a program of a partner, which gets tokens. <a href="/new-application">Register an application</a>, and approve it for the suite.</p>`
const BACK_UP = html`<p><code>token-server backup FILE</code> copies the database while the server runs. Let a timer do it every day.</p>`
const USE_TLS = html`<p>Secrets and tokens must cross the network encrypted. Set <code>PUBLIC_URL</code> to the https address that clients use.</p>`
const GET_NOTICES = html`<p>With <code>NOTICE_URL_FILE</code>, this server posts to a chat or a program what needs attention.</p>`

/**
 * What to do on a new server, for its overview: a list that ticks itself off. It comes first until there is a token, and later it is
 * below what needs attention. Undefined if all is done or the operator has hidden it. Throws StoreUnavailable.
 */
export async function firstHour(
  context: AdminContext,
  request: FastifyRequest,
  statistics: Statistics,
): Promise<{ first?: Html; later?: Html } | undefined> {
  if (request.isDemo || request.preferences.hidesSteps || !canChange(request)) return
  const { suites, applications, usageOf } = administrationOf(context, request)
  const [suite] = await suites.listFirst(1)
  if (suite && suite.createdAt < context.now() - NEW_MS) return
  const [application] = await applications.list({ limit: 1 })
  const { tokens, checks } = await usageOf('', '30d')
  const seen = seenIn(statistics)
  const { urls, settings } = context.about
  const { kind, databaseBytes, lastBackupAt } = statistics.store
  const hasNotices = settings.some(({ name, value }) => name === 'NOTICE_URL_FILE' && value !== 'none')
  const steps: Step[] = [
    ['Register a suite', suite !== undefined, 'console.md#suites', REGISTER_SUITE],
    [
      'Register an application',
      application !== undefined,
      'operations/administration.md#the-first-application',
      REGISTER,
    ],
    ['Get a token', tokens > 0 || seen.token, 'http.md#the-token-request', askFor(urls, application), 'first-token'],
    [
      'Check it at a gateway',
      checks > 0 || seen.check,
      'http.md#the-gateway-check',
      askAbout(urls, suite),
      'first-check',
    ],
    ['Make a backup', lastBackupAt !== undefined, 'operations/backup-and-upgrade.md#backup', BACK_UP],
    [
      'TLS, here or at a proxy',
      urls.publicUrl.startsWith('https:'),
      'operations/install-and-run.md#tls-here-or-in-front',
      USE_TLS,
    ],
    ['Get notices', hasNotices, 'operations/monitoring.md#notices', GET_NOTICES],
  ]
  // PostgreSQL has its own backups, of which this server knows nothing.
  const own = kind === 'sqlite' && databaseBytes !== 0 ? steps : steps.filter(([, , , how]) => how !== BACK_UP)
  const next = own.find(([, isDone]) => !isDone)
  if (!next) return
  const hide = html`<form method="post" action="/preferences">${hidden({ steps: 'off', back: '/' })}<button class="button">Hide this list</button></form>`
  const list = html`<ol class="steps">${own.map((step) => shown(step, step === next))}</ol>`
  if (!own.some(([, isDone, , , live]) => live === 'first-token' && isDone))
    return { first: section('first-hour', 'The first hour', list, hide) }
  const done = own.filter(([, isDone]) => isDone).length
  return {
    later: html`<details class="panel"><summary>The first hour: ${done} of ${own.length} done</summary>${list}${hide}</details>`,
  }
}

/** The badges that live.js replaces when the first token is issued, and the first one is found valid. */
export function liveSteps(statistics: Statistics): Html[] {
  const { token, check } = seenIn(statistics)
  return [liveBadge('first-token', token), liveBadge('first-check', check)]
}

function seenIn({ lastHour, stored }: Statistics) {
  return { token: lastHour.tokens + stored.tokens > 0, check: lastHour.activeChecks + stored.checks > 0 }
}

const stateOf = (isDone: boolean) => (isDone ? badge('done', 'good') : badge('to do'))

const liveBadge = (name: string, isDone: boolean) => html`<span data-live="${name}">${stateOf(isDone)}</span>`

function shown([title, isDone, page, how, live]: Step, isNext: boolean): Html {
  const state = live === undefined || isDone ? stateOf(isDone) : liveBadge(live, isDone)
  return html`<li><details${isNext && html` open`}><summary>${title} ${state}</summary>
<div class="prose">${how}<p><a href="/docs/${page}">Read more</a></p></div></details></li>`
}

type Urls = AdminContext['about']['urls']

function askFor({ publicUrl }: Urls, { clientId } = { clientId: 'CLIENT_ID' }): Html {
  const command = curl(`${publicUrl}/v1/oauth/accesstoken`, 'grant_type=client_credentials', { clientId })
  return html`<p>With the secret of the application. This is ticked off as soon as the token is issued.</p>${copyable('first-token', 'In a terminal', command)}`
}

function askAbout(urls: Urls, { suiteId } = { suiteId: 'SUITE' }): Html {
  const checks = gateways({ ...urls, suiteId }).map(
    ({ gateway, configuration }, n) =>
      html`<details name="gateway"><summary>${gateway}</summary>${copyable(`gateway-${n}`, 'The configuration', configuration)}</details>\n`,
  )
  return html`<p>The gateway in front of the suite asks this server about the token of each request. This is the least that it needs, with the suite at 127.0.0.1:9000; the examples that come with the program also drop what clients could forge.</p>${checks}`
}
