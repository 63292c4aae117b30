import type { FastifyReply } from 'fastify'
import { isFresh, isFromProvider } from '../../domain/operator.ts'
import type { AdminContext } from '../context.ts'
import { callerOf } from '../wire/caller.ts'
import { address, html } from './html.ts'
import { showPage } from './layout.ts'
import { IN_A_CLONE } from './login.ts'

/** The pages to come back to: of an application or a suite, of its removal, and of the operators. */
export const BACK = /^\/(?:operators|(?:applications|suites)\/[^/?#\\]+(?:\/remove)?)$/

/**
 * With an identity provider, asks for a new sign-in before a change that cannot be undone. `back`: the page of the change. Undefined:
 * there is no provider, or the operator has just signed in.
 */
export function askForNewSignIn(context: AdminContext, reply: FastifyReply, back: string): FastifyReply | undefined {
  const { provider, adminUrl, now } = context
  const { request } = reply
  if (!provider || (request.session && isFresh(request.session, now()))) return undefined
  const { operator } = callerOf(request)
  const how = isFromProvider(operator)
    ? html`<p>You come back to this page, and begin again.</p>
<div class="buttons"><a class="button primary" href="${address(`${adminUrl}/login/provider`, { back })}">Sign in again with ${provider.host}</a><a class="button" href="${back.replace(/\/remove$/, '')}">Cancel</a></div>`
    : html`<p>Run <code>token-server console ${operator.name}</code>, and open the link it prints. ${IN_A_CLONE}</p>`
  const content = html`<div class="panel prose"><p>Nothing was changed. This cannot be undone, so you must have signed in within the last 15 minutes.</p>${how}</div>`
  return showPage(reply, { title: 'Sign in again first', content }, { status: 403 })
}
