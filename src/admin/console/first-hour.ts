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

interface Step {
  title: string
  isDone: boolean
  how: Part
  /** The documents that say more. */
  page: string
  /** The name of its live part, if live.js ticks it off. */
  live?: string
}

/**
 * What to do on a new server, for its overview: a list that ticks itself off. Undefined if all is done or the operator has hidden it.
 * Throws StoreUnavailable.
 */
export async function firstHour(
  context: AdminContext,
  request: FastifyRequest,
  statistics: Statistics,
): Promise<Html | undefined> {
  if (request.isDemo || request.preferences.hidesSteps || !canChange(request)) return
  const { suites, applications, usageOf } = administrationOf(context, request)
  const [suite] = await suites.listFirst(1)
  if (suite && suite.createdAt < context.now() - NEW_MS) return
  const [application] = await applications.list({ limit: 1 })
  const { tokens, checks } = await usageOf('', '30d')
  const seen = seenIn(statistics)
  const clients = { suiteId: suite?.suiteId, clientId: application?.clientId }
  const used = { token: tokens > 0 || seen.token, check: checks > 0 || seen.check }
  const steps = [...stepsOfClients(context, clients, used), ...stepsOfServer(context, statistics)]
  if (steps.every(({ isDone }) => isDone)) return
  const next = steps.find(({ isDone }) => !isDone)
  const hide = html`<form method="post" action="/preferences">${hidden({ steps: 'off', back: '/' })}<button class="button">Hide this list</button></form>`
  const list = html`<ol class="steps">${steps.map((step) => shown(step, step === next))}</ol>`
  return section('first-hour', 'The first hour', list, hide)
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

function liveBadge(name: string, isDone: boolean): Html {
  return html`<span data-live="${name}">${stateOf(isDone)}</span>`
}

function shown({ title, isDone, how, page, live }: Step, isNext: boolean): Html {
  const state = live === undefined || isDone ? stateOf(isDone) : liveBadge(live, isDone)
  return html`<li><details${isNext && html` open`}><summary>${title} ${state}</summary>
<div class="prose">${how}<p><a href="/docs/${page}">Read more</a></p></div></details></li>`
}

function stepsOfClients(
  { about }: AdminContext,
  { suiteId, clientId }: { suiteId: string | undefined; clientId: string | undefined },
  used: { token: boolean; check: boolean },
): Step[] {
  const { publicUrl } = about.urls
  const command = curl(`${publicUrl}/v1/oauth/accesstoken`, 'grant_type=client_credentials', {
    clientId: clientId ?? 'CLIENT_ID',
  })
  const checks = gateways({ ...about.urls, suiteId: suiteId ?? 'SUITE' }).map(
    ({ gateway, configuration }, n) =>
      html`<details name="gateway"><summary>${gateway}</summary>${copyable(`gateway-${n}`, 'The configuration', configuration)}</details>\n`,
  )
  return [
    {
      title: 'Register a suite',
      isDone: suiteId !== undefined,
      how: html`<p>A suite is an API that checks tokens. <a href="/new-suite">Register a suite</a></p>`,
      page: 'console.md#suites',
    },
    {
      title: 'Register an application',
      isDone: clientId !== undefined,
      how: html`<p>An application is a program of a partner, which gets tokens. <a href="/new-application">Register an application</a>, and approve it for the suite.</p>`,
      page: 'operations/administration.md#the-first-application',
    },
    {
      title: 'Get a token',
      isDone: used.token,
      how: html`<p>With the secret of the application. This is ticked off as soon as the token is issued.</p>${copyable('first-token', 'In a terminal', command)}`,
      page: 'http.md#the-token-request',
      live: 'first-token',
    },
    {
      title: 'Check it at a gateway',
      isDone: used.check,
      how: html`<p>The gateway in front of the suite asks this server about the token of each request. This is the least that it needs, with the suite at 127.0.0.1:9000; the examples that come with the program also drop what clients could forge.</p>${checks}`,
      page: 'http.md#the-gateway-check',
      live: 'first-check',
    },
  ]
}

function stepsOfServer({ about }: AdminContext, { store }: Statistics): Step[] {
  const { databaseBytes, kind, lastBackupAt } = store
  const hasNotices = about.settings.some(({ name, value }) => name === 'NOTICE_URL_FILE' && value !== 'none')
  const backup = {
    title: 'Make a backup',
    isDone: lastBackupAt !== undefined,
    how: html`<p><code>token-server backup FILE</code> copies the database while the server runs. Let a timer do it every day.</p>`,
    page: 'operations/backup-and-upgrade.md#backup',
  }
  return [
    // PostgreSQL has its own backups, of which this server knows nothing.
    ...(kind === 'sqlite' && databaseBytes !== 0 ? [backup] : []),
    {
      title: 'TLS, here or at a proxy',
      isDone: about.urls.publicUrl.startsWith('https:'),
      how: html`<p>Secrets and tokens must cross the network encrypted. Set <code>PUBLIC_URL</code> to the https address that clients use.</p>`,
      page: 'operations/install-and-run.md#tls-here-or-in-front',
    },
    {
      title: 'Get notices',
      isDone: hasNotices,
      how: html`<p>With <code>NOTICE_URL_FILE</code>, this server posts to a chat or a program what needs attention.</p>`,
      page: 'operations/monitoring.md#notices',
    },
  ]
}
