import { originOf, type Secret } from '../domain/secret.ts'
import { choice, object, text, time, view, whole } from './schema.ts'

export const SECRET = object('Secret', 'A secret, without its value', {
  id: whole('Its id'),
  origin: choice(['generated', 'imported'], 'generated: made by this server; imported: it existed before'),
  state: choice(['active', 'expired', 'revoked'], 'Only an active one is accepted'),
  created_at: time('When it was added'),
  ends_at: time('When it ends or ended; null if never').nullable(),
  revoked_at: time('When it was revoked; null if it was not').nullable(),
  last_used_at: time('When it was last used, at most a minute out of date; null if never').nullable(),
})

export const OWNED_SECRET = object('OwnedSecret', 'A secret and its owner', {
  kind: choice(['application', 'suite'], 'What its owner is'),
  owner: text('The client id of the application, or the id of the suite'),
  name: text('The name of the owner'),
  ...SECRET.shape,
})

const AUDITED = SECRET.omit({ state: true, last_used_at: true })

/** A secret in audit events, without its last use: a use is not a change. */
export function secretFields(secret: Secret) {
  return view(AUDITED, { ...secret, origin: originOf(secret) })
}
