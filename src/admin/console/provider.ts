import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Identity, SIGN_IN_LIFETIME, SignInRefused } from '../../domain/identity.ts'
import { readableName } from '../../domain/operator.ts'
import { randomString } from '../../domain/text.ts'
import { createBudgets } from '../../limits/budgets.ts'
import { clientIn, prefixOf } from '../../web/address.ts'
import { type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { isProxied } from '../wire/host.ts'
import { ProblemError } from '../wire/problem.ts'
import { note } from './components.ts'
import { fieldsOf } from './forms.ts'
import { showPage } from './layout.ts'
import { BACK, cookieIn, loginPage, originOf, setSessionCookie, shortCookie } from './login.ts'

/** How many sign-ins one address prefix may begin and complete, since each asks the provider. */
const SIGN_INS = { atOnce: 20, interval: 4000 }

/** What the browser keeps during a sign-in: 256 bits. */
const COOKIE = 'login'
const SECRET_LENGTH = 43

export function providerLogin(console: FastifyInstance, context: AdminContext): void {
  const { provider, adminUrl, signIn, administration } = context
  const budgets = createBudgets(() => performance.now(), { slots: 1024 })

  // Both steps are counted separately, so that people can complete a sign-in even if others begin many.
  function providerFor({ remoteAddress }: FastifyRequest, step: 'begin' | 'complete') {
    if (!provider) throw new ProblemError('not_found', 'There is no identity provider: see OIDC_ISSUER.')
    if (budgets.spend(`${step} ${prefixOf(clientIn(remoteAddress))}`, SIGN_INS) === 0) return provider
    throw new ProblemError('too_many_requests', 'Too many sign-ins have begun at your address. Wait some seconds.', {
      status: 429,
    })
  }

  // A link and not a form: form-action of the CSP would forbid the redirect to another site.
  console.get('/login/provider', { config: { takesTurn: false } }, async (request, reply) => {
    const provider = providerFor(request, 'begin')
    const back = fieldsOf(request.query).text('back')
    const { 'sec-fetch-site': site = 'none' } = request.headers
    // Other sites must not begin a sign-in, and the cookie must belong to the host that the provider redirects to.
    const isOwn = /^(none|same-origin)$/.test(site) && isProxied(request, adminUrl)
    if (!isOwn) return reply.redirect(`${adminUrl}/login`, 303)
    // One secret for all tabs.
    const secret = cookieIn(request, COOKIE) ?? randomString(SECRET_LENGTH)
    const url = await provider
      .begin(secret, BACK.test(back) ? back : '')
      .catch((error) => refuseSignIn(context, request, reply, error))
    if (typeof url !== 'string') return url
    return reply.header('set-cookie', shortCookie(request, COOKIE, secret, SIGN_IN_LIFETIME / 1000)).redirect(url, 303)
  })

  // Browsers send cookies with SameSite=Strict only with requests of our own pages, not with the provider's redirect.
  console.get('/login/callback', (request, reply) => {
    const next = `/login/complete?${new URLSearchParams(queryOf(request))}`
    const content = html`<div class="panel prose"><p><a href="${next}">Continue</a></p></div>`
    return showPage(reply.header('refresh', `0; url=${next}`), { title: 'Signing in', content })
  })

  console.get('/login/complete', { config: { takesTurn: false } }, async (request, reply) => {
    const provider = providerFor(request, 'complete')
    const { session, caller } = request
    try {
      const identity = await provider.complete(cookieIn(request, COOKIE) ?? '', queryOf(request))
      // The new session replaces the previous one in this browser.
      if (identity.role && session && caller) {
        await administration(caller.author).operators.endSession(caller.operator.name, session.id)
      }
      const login = await signIn.logInAs(identity, originOf(request))
      const { whyNoRole = 'an operator of this name was removed' } = identity
      if (!login) return refuseSignIn(context, request, reply, new SignInRefused('no role', whyNoRole), identity)
      setSessionCookie(reply, login.reference)
      return reply.redirect(identity.back || '/signed-in', 303)
    } catch (error) {
      // The person went back in the history.
      if (caller && error instanceof SignInRefused && error.reason !== 'old sign-in') return reply.redirect('/', 303)
      return refuseSignIn(context, request, reply, error)
    }
  })
}

/** Shows the login page with the reason why a sign-in was refused. Throws any other error. */
function refuseSignIn(
  context: AdminContext,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  identity?: Identity,
): FastifyReply {
  const { provider, signIn, observe } = context
  if (!(error instanceof SignInRefused)) throw error
  const { id: requestId, remoteAddress } = request
  const { reason, message: detail } = error
  observe({ type: 'operator refused', reason, operator: identity?.name, detail, requestId, remoteAddress })
  const words = wordsFor(error, html`<bdi>${provider?.host}</bdi>`, { identity, acceptsLinks: signIn.acceptsLinks })
  const content = note('bad', html`<p>${words}</p><p class="hint">Request id <code>${requestId}</code></p>`)
  const isAway = reason === 'provider unavailable'
  return showPage(reply, loginPage(context, { reason: content, isAway }), { status: isAway ? 503 : 403 })
}

function wordsFor(
  { reason, message: detail }: SignInRefused,
  host: Html,
  { identity, acceptsLinks }: { identity: Identity | undefined; acceptsLinks: boolean },
): Part {
  return {
    'unknown sign-in': 'This sign-in was not begun in this browser, or more than ten minutes ago. Sign in again.',
    'provider unavailable': html`${host} does not answer as expected. Try again, or ${acceptsLinks ? 'sign in with a link from' : 'use'} the command line.`,
    'old sign-in': html`Nothing was changed: ${host} does not say that you have signed in again within the last 15 minutes (<bdi>${detail}</bdi>). Sign out there, and try again. If it never sends auth_time, this can be done on the command line only.`,
    'provider refused': html`${host} refused the sign-in, or sent an invalid answer: <bdi>${detail}</bdi>`,
    'no role': html`You are signed in at ${host} as <bdi>${identity && readableName(identity)}</bdi>, but this account has no role here. Ask an admin of this server. To use another account, sign out at ${host} first.`,
  }[reason]
}

function queryOf({ url }: FastifyRequest): string {
  return new URL(url, 'http://localhost').search.slice(1)
}
