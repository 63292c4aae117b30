import { ROLES } from '../domain/operator.ts'
import { choice, list, object, text, time, whole } from './schema.ts'

export const ADMIN_KEY = object('AdminKey', 'An admin key, without its value', {
  id: whole('Its id'),
  state: choice(['active', 'expired', 'revoked'], 'Only an active one is accepted'),
  created_at: time('When it was made'),
  ends_at: time('When it ends or ended'),
  revoked_at: time('When it was revoked; null if it was not').nullable(),
  last_used_at: time('When it was last used, at most a minute out of date; null if never').nullable(),
})

export const SESSION = object('Session', 'A session in the console, without its cookie', {
  id: whole('Its id'),
  created_at: time('When it began'),
  remote_address: text('The address at sign-in'),
  user_agent: text('The User-Agent of the browser'),
  last_seen_at: time('When it was last used, at most a minute out of date'),
  ends_at: time('When it ends, unless it is used again'),
})

export const OPERATOR = object('Operator', 'A person or a program that uses this API or the console', {
  name: text('The name in the log and in audit events'),
  role: choice(ROLES, 'A viewer can look, but not change anything'),
  email: text('The email address, or the user name, at the identity provider; null if unknown').nullable(),
  created_at: time('When the operator was added'),
  keys: list('Oldest first, including ended ones', ADMIN_KEY),
  sessions: list('The sessions that have not ended', SESSION),
})

/** An operator in audit events, without times of use: a use is not a change. */
export const AUDITED_OPERATOR = OPERATOR.extend({
  keys: ADMIN_KEY.omit({ state: true, last_used_at: true }).array(),
  sessions: SESSION.omit({ last_seen_at: true, ends_at: true }).array(),
  login_links: ADMIN_KEY.pick({ created_at: true, ends_at: true }).array(),
})
