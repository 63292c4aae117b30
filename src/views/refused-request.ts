import { object, text, time } from './schema.ts'

export const REFUSED_REQUEST = object('RefusedRequest', 'A request or a token check that was refused or failed', {
  at: time('When it was answered'),
  request_id: text('The X-Request-Id of its answer'),
  reason: text('The real reason, as in the log'),
  endpoint: text('The endpoint; `other` if there is none'),
  client_id: text(
    'The client id that it named; for an unknown one, only its beginning and its length; null if none',
  ).nullable(),
  kind: text('Whether the client id belongs to an application or a suite; null if to neither').nullable(),
  name: text('Its name; null if the client id belongs to neither').nullable(),
  suite: text('The suite that was asked for; null if none').nullable(),
  remote_address: text('The address that it came from'),
  detail: text('What exactly was wrong; null if the reason says it all').nullable(),
})
