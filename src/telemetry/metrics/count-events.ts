import type { Event, Observer } from '../../domain/events.ts'
import { STATUSES } from './catalogue.ts'
import { createRecorders, type Numbers } from './numbers.ts'

type Type = Event['type']
type EventOf<T extends Type, E = Event> = E extends { type: infer Types } ? (T extends Types ? E : never) : never
type Handlers = { [T in Type]?: (event: EventOf<T>) => void }

/** Every status is below this. */
const STATUS_LIMIT = 1000

/** Counts what happens. It is called several times on the path of each request. */
export function createEventCounter(numbers: Numbers): Observer {
  const { counter, counterOf, histogram } = createRecorders(numbers)
  const issued = counter('tokens_issued_total')
  const revoked = counter('tokens_revoked_total')
  const purged = counter('purged_tokens_total')
  const dropped = counter('log_lines_dropped_total')
  const lost = counter('database_losses_total')
  const jumped = counter('clock_jumps_total')
  const checked = counterOf('token_checks_total')
  const notAuthenticated = counterOf('authentication_refusals_total')
  const refused = counterOf('request_refusals_total')
  const closed = counterOf('connections_closed_total')
  const failed = counterOf('background_failures_total')
  const replaced = counterOf('worker_restarts_total')
  const batch = histogram('write_batch_size')
  const commit = histogram('commit_duration_seconds')
  const sync = histogram('disk_sync_duration_seconds')
  const roundTrip = histogram('database_round_trip_duration_seconds')

  const handlers: Handlers = {
    ...requestHandlers(numbers),
    'check passed': () => checked('active'),
    'token refused': ({ reason }) => checked(reason),
    'token issued': () => issued(1),
    'token revoked': () => revoked(1),
    'authentication refused': ({ reason }) => notAuthenticated(reason),
    'request refused': ({ reason }) => refused(reason),
    'request failed': ({ reason }) => refused(reason),
    'quota refusal': () => refused('token quota exceeded'),
    'connection closed': ({ reason }) => closed(reason),
    'batch written': ({ size, seconds }) => {
      batch(size)
      commit(seconds)
    },
    'disk synced': ({ seconds }) => sync(seconds),
    'round trip': ({ seconds, kind }) => roundTrip(seconds, kind),
    'tokens purged': ({ count }) => purged(count),
    'purge failed': () => failed('purge'),
    'usage not recorded': () => failed('usage'),
    'refusals not recorded': () => failed('refusals'),
    'log lines dropped': ({ count }) => dropped(count),
    'database lost': () => lost(1),
    'clock jumped': () => jumped(1),
    'worker replaced': ({ reason }) => replaced(reason),
  }
  const byType = handlers as Record<string, ((event: Event) => void) | undefined>
  return (event) => byType[event.type]?.(event)
}

/** What is counted of requests: an endpoint is looked up once, and a status stands in a table. */
function requestHandlers(numbers: Numbers): Pick<Handlers, 'request answered' | 'request abandoned'> {
  const { placesOf, counterOf, histogram } = createRecorders(numbers)
  const requests = placesOf('http_requests_total')
  const abandoned = counterOf('http_requests_abandoned_total')
  const duration = histogram('http_request_duration_seconds')
  // What is not in the list would be a bug.
  const statuses = new Uint8Array(STATUS_LIMIT).fill(STATUSES.indexOf('500'))
  for (const [index, status] of STATUSES.entries()) statuses[Number(status)] = index

  return {
    'request answered': ({ endpoint, status, seconds }) => {
      numbers.add((requests.get(endpoint) as number) + (statuses[status] as number), 1)
      // An answer that waits on purpose says nothing of how fast this server is.
      if (seconds !== undefined && status !== 429) duration(seconds, endpoint)
    },
    'request abandoned': ({ endpoint, seconds }) => {
      abandoned(endpoint)
      duration(seconds, endpoint)
    },
  }
}
