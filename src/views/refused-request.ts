import { object, text, time } from './schema.ts'

export const REFUSED_REQUEST = object(
  'RefusedRequest',
  'A request, or the check of a token, that was refused or failed',
  {
    at: time('When it was answered'),
    request_id: text('The X-Request-Id of its answer'),
    reason: text('The real reason, as in the log'),
    endpoint: text('The endpoint; `other` if there is none'),
    client_id: text(
      'The client id that it named; for an unknown one, only its beginning and its length; null if none',
    ).nullable(),
    kind: text('What has this client id: an application or a suite; null if nothing has').nullable(),
    name: text('Its name; null if nothing has this client id').nullable(),
    suite: text('The suite that was asked for; null if none').nullable(),
    remote_address: text('The address that it came from'),
  },
)
