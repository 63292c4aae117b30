import type { FastifyRequest } from 'fastify'
import { isFresh, isFromProvider } from '../../domain/operator.ts'
import type { AdminContext } from '../context.ts'
import { callerOf } from '../wire/caller.ts'
import { address, html } from './html.ts'
import type { Page } from './layout.ts'
import { IN_A_CLONE } from './login.ts'

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
 * Before a change that cannot be undone: with an identity provider, throws NewSignInNeeded unless the operator has just signed
 * in. `back` is the page of the change.
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
