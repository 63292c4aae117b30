import { text } from 'node:stream/consumers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAdminKey } from '../../domain/operator.ts'
import { type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { isSafe } from '../wire/access.ts'
import { problem, RefusedOperator, reportError, sendProblem } from '../wire/problem.ts'
import { note } from './components.ts'
import { fieldsOf, hidden } from './forms.ts'
import { showPage } from './layout.ts'
import { loginInstructions, loginPath, NewSignInNeeded, sessionReferenceIn } from './login.ts'

const BACK: Part = html`<p>Go back, or go to the <a href="/">overview</a>.</p>`
const NOTHING_CHANGED: Part = html`<p>Nothing was changed. Go back, load the page again, and repeat what you did.</p>`

const PAGES: Record<number, { title: string; advice: Part }> = {
  403: { title: 'This was refused', advice: html`<p>Nothing was changed.</p>${BACK}` },
  404: { title: 'Page not found', advice: BACK },
  405: { title: 'This method is not allowed', advice: BACK },
  409: { title: 'This cannot be done', advice: html`<p>Nothing was changed.</p>${BACK}` },
  413: { title: 'This is too large', advice: NOTHING_CHANGED },
  421: {
    title: 'This host is not known',
    advice: html`<p>Open the console at the address that it listens on, or set <code>ADMIN_URL</code> to the one that operators open.</p>`,
  },
  422: { title: 'Something is not right', advice: NOTHING_CHANGED },
  429: { title: 'Too many requests', advice: BACK },
  503: {
    title: 'This cannot be done now',
    advice: html`<p>If you were changing something, first check whether it was changed. The <a href="/">overview</a> shows what works, and <code>token-server doctor</code> says more.</p>`,
  },
}

const MALFORMED = { title: 'This could not be read', advice: NOTHING_CHANGED }

const FAILED = {
  title: 'The server failed',
  advice: html`<p>This is a bug in the program. Its log says more, under the request id below. If you were changing something, check whether it was changed before you try again.</p>`,
}

/** The largest form that is kept. The form of an application with all suites ticked has 40 KB. */
const MAX_KEPT = 64 * 1024

/** The most fields that are kept: the form of an application with 200 suites has some 400. */
const MAX_FIELDS = 500

/** A button that sends a refused form again with what was entered. Undefined if there is nothing to send. */
async function sendAgain({ url, body, raw, headers }: FastifyRequest): Promise<Html | undefined> {
  // Never shows a login code again.
  if (url === loginPath()) return
  // Without a session the body was not read. The client may close the connection meanwhile.
  const isUnread = body === undefined && Number(headers['content-length']) <= MAX_KEPT
  const fields = new URLSearchParams(isUnread ? await text(raw).catch(() => '') : '')
  for (const name of Object.keys(body ?? {})) for (const value of fieldsOf(body).all(name)) fields.append(name, value)
  if (fields.size === 0 || fields.size > MAX_FIELDS) return
  return html`<form method="post">${[...fields].map(([name, value]) => hidden({ [name]: value }))}<p>What you entered is kept on this page.</p><div class="buttons"><button class="button">Send it again</button></div></form>`
}

/** Answers errors with pages. Redirects to the login page if nobody is signed in. */
export function showErrors(console: FastifyInstance, context: AdminContext): void {
  console.setErrorHandler(async (error, request, reply) => {
    if (error instanceof RefusedOperator && error.reason !== 'another host' && isProgram(request)) {
      return sendProblem(reply, problem('no_such_path', 'The API is under /admin/v1/.'))
    }
    if (error instanceof RefusedOperator && error.reason === 'no credentials')
      return askToSignIn(context, request, reply)
    if (error instanceof NewSignInNeeded) return showPage(reply, error.page, { status: 403 })
    const answer = reportError(context.observe, error, request)
    reply.headers(answer.headers ?? {})
    // A form's answer that is opened again, such as the page of a new secret.
    if (answer.status === 405 && isSafe(request.method)) return reply.redirect(above(request.url), 303)
    const kept = answer.status === 503 && !isSafe(request.method) && (await sendAgain(request))
    const { status, detail } = answer
    // What a form is about was removed meanwhile: the page is not what is missing.
    const isGone = answer.code === 'not_found' && !isSafe(request.method)
    const { title, advice } = PAGES[isGone ? 409 : status] ?? (status < 500 ? MALFORMED : FAILED)
    const content = html`${note('warn', html`<p>${detail}</p>`)}<div class="panel prose">${advice}${kept}<p class="hint">${status}, request id <code>${request.id}</code></p></div>`
    return showPage(reply, { title, content }, { status })
  })
}

/** The page of an application or a suite with a form at this URL; else the operators, or the overview. */
function above(url: string): string {
  return /^\/(?:operators|(?:applications|suites)\/[^/?]+)(?=\/)/.exec(url)?.[0] ?? '/'
}

/** Whether a request has an admin key. Any other Authorization header may have been added by a proxy. */
function isProgram({ headers: { authorization = '' } }: FastifyRequest): boolean {
  return isAdminKey(authorization.replace(/^bearer +/i, ''))
}

/** Redirects page views to the login page. Forms get a page that says that nothing was changed. */
async function askToSignIn(context: AdminContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const hadSession = sessionReferenceIn(request) !== undefined
  const isView = isSafe(request.method)
  const isPage = isView && /text\/html|^$/.test(request.headers.accept ?? '')
  if (isPage) return reply.redirect(loginPath(hadSession ? 'ended' : undefined), 303)
  const kept = !isView && (await sendAgain(request))
  const title = hadSession ? 'Your session has ended' : 'You are not signed in'
  const ends = html`<p>Sessions end after 15 minutes without a click, after 8 hours, when your role is changed, and when an operator ends them.</p>`
  const content = html`<div class="panel prose">${!isView && html`<p>Nothing was changed.</p>`}${hadSession && ends}${loginInstructions(context)}${kept && html`<p>Sign in in another window of this browser, and come back to this one.</p>${kept}`}</div>`
  return showPage(reply, { title, content }, { status: 401 })
}
