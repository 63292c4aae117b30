import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LoginOrigin, SignIn } from '../../administration/sign-in.ts'
import { isFresh, isFromProvider, type LoginReason, readableName, type Session } from '../../domain/operator.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { assertAccess, isSafe } from '../wire/access.ts'
import { callerOf, setCaller } from '../wire/caller.ts'
import { note } from './components.ts'
import { field, fieldsOf, hidden } from './forms.ts'
import { type Page, showPage } from './layout.ts'

/** Why somebody was redirected here, by the `why` of the URL. */
const WHY: Record<string, Part> = {
  ended:
    'Your session has ended: after 15 minutes without a click, after 8 hours, or because your role was changed or an operator ended it.',
  out: 'You are signed out.',
}

const WRONG: Record<LoginReason, string> = {
  'unknown login link': 'This code is wrong: something is missing or different. Copy the whole link.',
  'used login link': 'This link has already been used. Each link works once.',
  'expired login link': 'This link has expired. Each link works for ten minutes.',
  'login links not accepted': 'Login links are not accepted here (OPERATORS=provider).',
}

export function loginPath(why?: keyof typeof WHY): string {
  return why === undefined ? '/login' : `/login?why=${why}`
}

/** Signs operators in with the code of a one-time link, and signs them out. For the identity provider, see provider.ts. */
export function login(console: FastifyInstance, context: AdminContext): void {
  const { signIn, administration, observe } = context
  console.get('/login', (request, reply) => {
    const { caller, query } = request
    const why = fieldsOf(query).text('why')
    const reason = caller
      ? html`You are signed in as <bdi>${readableName(caller.operator)}</bdi>. <a href="/">Go to the overview</a>`
      : Object.hasOwn(WHY, why) && WHY[why]
    return showPage(reply, loginPage(context, { reason: reason && note('quiet', html`<p>${reason}</p>`) }))
  })

  console.post('/login', async (request, reply) => {
    const { id: requestId, remoteAddress, session, caller } = request
    const { text } = fieldsOf(request.body)
    // People may paste the whole link.
    const code = text('code').replace(/^.*#/s, '')
    if (caller && text('instead') === '') {
      const login = await signIn.checkLoginCode(code)
      const { name } = caller.operator
      // The link may come from someone else. Ask first, so that nobody acts under another name unnoticed (login CSRF).
      if (typeof login !== 'string' && login.operator !== name) {
        return showPage(reply, switchPage(readableName(caller.operator), login.operator, code))
      }
    }
    const result = await signIn.logIn(code, originOf(request))
    if (typeof result === 'string') {
      observe({ type: 'operator refused', reason: result, requestId, remoteAddress })
      // Probably the link that began this session was opened again.
      if (caller && text('instead') === '' && result !== 'unknown login link') return reply.redirect('/', 303)
      return showPage(reply, loginPage(context, { error: WRONG[result] }), { status: 403 })
    }
    setSessionCookie(reply, result.reference)
    // The new session replaces the previous one in this browser.
    if (session && caller) await administration(caller.author).operators.endSession(caller.operator.name, session.id)
    return reply.redirect('/signed-in', 303)
  })

  // Checks whether the browser has kept the cookie, and explains it if not. The overview would just redirect to the login.
  console.get('/signed-in', ({ session }, reply) =>
    session ? reply.redirect('/', 303) : showPage(reply, cookieLostPage(loginInstructions(context)), { status: 403 }),
  )

  console.post('/logout', async ({ session, caller }, reply) => {
    if (session && caller) await administration(caller.author).operators.endSession(caller.operator.name, session.id)
    setSessionCookie(reply)
    return reply.redirect(loginPath('out'), 303)
  })
}

export function originOf({ id: requestId, remoteAddress, headers }: FastifyRequest): LoginOrigin {
  return { remoteAddress, userAgent: headers['user-agent'] ?? '', requestId }
}

/** How to run the commands in a clone of the repository. */
export const IN_A_CLONE = html`In a clone of the repository, write <code>npx token-server</code> instead of <code>token-server</code>.`

export function loginInstructions(context: AdminContext): Html {
  const { provider, adminUrl } = context
  if (!provider) return linkInstructions(context)
  return html`<p><a class="button primary" href="${adminUrl}/login/provider">Sign in with ${provider.host}</a></p>`
}

function linkInstructions({ howToSignIn }: Pick<AdminContext, 'howToSignIn'>): Html {
  if (howToSignIn !== undefined) return html`<p>${howToSignIn}</p>`
  return html`<p>Run <code>token-server console NAME</code> with your operator name on a machine that can reach the server’s database, and open the link it prints. ${IN_A_CLONE}</p>`
}

/** `reason` says why it is shown, `error` what is wrong with the link, `isAway` that the identity provider does not answer. */
export function loginPage(
  context: AdminContext,
  { reason, error, isAway }: { reason?: Part; error?: string; isAway?: boolean },
): Page {
  const { provider, signIn } = context
  const withLink = html`${linkInstructions(context)}
<p>The link works once, within ten minutes.</p>
<form class="form" method="post" action="/login" data-login>${field({
    label: 'Code',
    name: 'code',
    hint: 'The part of the link after the #. You need it only if scripts are turned off.',
    error: error && `${error} Get a new link as described above.`,
    required: true,
    isCode: true,
  })}<div class="buttons"><button class="button ${!provider && 'primary'}">Sign in</button></div></form>`
  const withProvider = html`${loginInstructions(context)}
<details class="prose"${(error || isAway) && html` open`}><summary>Sign in with a link from the command line</summary>${withLink}</details>`
  const onlyProvider = html`${error && note('bad', html`<p>${error}</p>`)}${loginInstructions(context)}`
  const ways = !signIn.acceptsLinks ? onlyProvider : provider ? withProvider : withLink
  const content = html`${reason}\n<div class="panel prose">\n${ways}\n</div>`
  return { title: 'Sign in', scripts: ['login.js'], content }
}

/** Asks whether to sign in as another operator. Only the button sends `instead`, so a link alone cannot do it. */
function switchPage(present: string, other: string, code: string): Page {
  return {
    title: `Sign in as ${other}?`,
    scripts: ['login.js'],
    content: html`<div class="panel prose">
<p>You are signed in as <bdi>${present}</bdi>. Sign in as <bdi>${other}</bdi> with this link instead? That ends your session.</p>
<form class="form" method="post" action="/login" data-login>${hidden({ code })}<div class="buttons"><button class="button primary" name="instead" value="yes">Sign in as ${other}</button> <a class="button" href="/">Stay signed in as ${present}</a></div></form>
</div>`,
  }
}

function cookieLostPage(instructions: Part): Page {
  return {
    title: 'Your browser did not keep the session',
    content: html`<div class="panel prose">
<p>The code was right, but the browser did not keep the cookie that the console needs. Browsers keep it on HTTPS, and on plain HTTP if the address is <code>127.0.0.1</code> or <code>localhost</code>.</p>
<ul>
<li>Through SSH: <code>ssh -L 8081:127.0.0.1:8081 SERVER</code>, and then <code>http://127.0.0.1:8081</code>. Safari does not keep it even there: use another browser, or HTTPS.</li>
<li>Behind a proxy with HTTPS: set <code>ADMIN_URL</code> to the address that operators open.</li>
<li>If cookies are blocked: allow them for this address.</li>
</ul>
<p>Then get a new link: this one is used up.</p>
${instructions}
</div>`,
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | null
  }
  interface FastifyContextConfig {
    /** False if the route is public, or finds the session itself. */
    findsSession?: false
  }
}

/**
 * Sets the caller from the session cookie before the body is read, and checks changes again afterwards: the session may have
 * ended while the body arrived. `limitAccess` decides about access.
 */
export function recognizeSessions(console: FastifyInstance, { findSession }: SignIn): void {
  async function recognize(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const reference = sessionReferenceIn(request)
    if (reference === undefined || request.routeOptions.config.findsSession === false) return
    const found = await findSession(reference)
    request.session = found?.session ?? null
    if (found) setCaller(request, { operator: found.operator, origin: 'console', credential: reference })
    else {
      request.caller = null
      setSessionCookie(reply)
    }
  }

  console.decorateRequest('session', null)
  console.addHook('onRequest', recognize)
  console.addHook('preHandler', async (request, reply) => {
    if (isSafe(request.method)) return
    await recognize(request, reply)
    assertAccess(request)
  })
}

/**
 * `__Host-` (RFC 6265bis §4.1.3.2): the browser sends the cookie to this host only, over TLS or to localhost. The attributes
 * hide it from scripts and from requests by other sites.
 */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite='

export function sessionReferenceIn(request: FastifyRequest): string | undefined {
  return cookieIn(request, 'session')
}

export function cookieIn(request: FastifyRequest, name: string): string | undefined {
  const [, value] =
    new RegExp(`(?:^|;) *${nameFor(request, name)}=([A-Za-z0-9]+)`).exec(request.headers.cookie ?? '') ?? []
  return value
}

/** A cookie for some seconds, which the browser also sends when another site leads here. */
export function shortCookie(request: FastifyRequest, name: string, value: string, seconds: number): string {
  return `${nameFor(request, name)}=${value}; ${ATTRIBUTES}Lax; Max-Age=${seconds}`
}

/** The name of the cookie, with the port: cookies ignore ports, and each SSH tunnel to localhost may lead to another server. */
function nameFor({ headers: { host = '' } }: FastifyRequest, name: string): string {
  const [port = ''] = /:\d+$/.exec(host) ?? []
  return `__Host-${name}${port.replace(':', '-')}`
}

/** Sets the session cookie, which the browser keeps until it closes. Without a reference, the browser deletes it. */
export function setSessionCookie(reply: FastifyReply, reference?: string): void {
  const cookie = `${nameFor(reply.request, 'session')}=${reference ?? ''}; ${ATTRIBUTES}Strict${reference === undefined ? '; Max-Age=0' : ''}`
  // Fastify would also send a cookie that was set earlier.
  reply.removeHeader('set-cookie').header('set-cookie', cookie)
}

/** The pages to come back to: of an application or a suite, of its removal, and of the operators. */
export const BACK = /^\/(?:operators|(?:applications|suites)\/[^/?#\\]+(?:\/remove)?)$/

/** The operator has not signed in recently enough. `page` asks for a new sign-in. */
export class NewSignInNeeded extends Error {
  readonly page: Page

  constructor(page: Page) {
    super(page.title)
    this.page = page
  }
}

/**
 * Called before a change that cannot be undone: with an identity provider, throws NewSignInNeeded unless the operator has just
 * signed in. `back` is the page of the change.
 */
export function assertNewSignIn(context: AdminContext, request: FastifyRequest, back: string): void {
  const { provider, adminUrl, now } = context
  if (!provider || (request.session && isFresh(request.session, now()))) return
  const { operator } = callerOf(request)
  const how = isFromProvider(operator)
    ? html`<p>Then you come back to this page, and start again.</p>
<div class="buttons"><a class="button primary" href="${address(`${adminUrl}/login/provider`, { back })}">Sign in again with ${provider.host}</a><a class="button" href="${back.replace(/\/remove$/, '')}">Cancel</a></div>`
    : html`<p>Run <code>token-server console ${operator.name}</code>, and open the link it prints. ${IN_A_CLONE}</p>`
  const content = html`<div class="panel prose"><p>Nothing was changed. This cannot be undone, so you must have signed in within the last 15 minutes.</p>${how}</div>`
  throw new NewSignInNeeded({ title: 'Sign in again first', content })
}
