import { CERTIFIED_LISTENERS, CLOSING_REASONS, REPLACEMENT_REASONS, ROUND_TRIPS } from '../../domain/events.ts'
import { AUTHENTICATION_REASONS, CHECK_REASONS, REPORTED_REASONS, REQUEST_REASONS } from '../../domain/reasons.ts'
import { ENDPOINTS } from '../../domain/refusal.ts'

export interface Metric {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  /** Every value that each label can have: never text from a request. Empty if they are known only at the start. */
  labels: Record<string, readonly string[]>
  buckets?: readonly number[]
}

export const PREFIX = 'token_server_'

export const CHECKS: readonly (typeof ENDPOINTS)[number][] = [
  '/v1/oauth/introspect',
  '/v1/oauth/verify',
  '/v1/oauth/verify/:suite',
]

export const STATUSES = ['200', '400', '401', '403', '404', '405', '408', '413', '429', '431', '500', '503'] as const

const RESULTS = ['active', ...Object.keys(CHECK_REASONS)]

/** Seconds. */
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const STORE_BUCKETS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5]
const SIZE_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** Every metric, without the prefix. docs/metrics.md is tested against this list. */
export const CATALOGUE = {
  http_requests_total: counter('Requests that were answered.', { endpoint: ENDPOINTS, status: STATUSES }),
  http_requests_abandoned_total: counter('Requests whose client left before the answer.', { endpoint: ENDPOINTS }),
  http_request_duration_seconds: histogram(
    'From the request to the answer, or until the client disconnects; answers of 429 are left out.',
    { endpoint: ENDPOINTS },
    REQUEST_BUCKETS,
  ),
  http_requests_in_flight: gauge('Requests that are not answered yet.'),
  connections: gauge('Open connections to the public port.'),
  connections_closed_total: counter('Connections that were closed because of a limit, or of a failed TLS handshake.', {
    reason: CLOSING_REASONS,
  }),
  certificate_expiry_seconds: gauge('How long the TLS certificate of a listener is still valid; negative if expired.', {
    listener: CERTIFIED_LISTENERS,
  }),
  certificate_refused: gauge('Whether the files of a listener have a certificate that cannot be used: 1, or 0.', {
    listener: CERTIFIED_LISTENERS,
  }),

  tokens_issued_total: counter('Access tokens that were issued.'),
  tokens_revoked_total: counter('Access tokens that their applications revoked one by one.'),
  authentication_refusals_total: counter('Applications and suites that were not authenticated.', {
    reason: [...Object.keys(AUTHENTICATION_REASONS), 'no credentials'],
  }),
  request_refusals_total: counter('Requests that were refused or failed for another reason.', {
    reason: Object.keys(REQUEST_REASONS).filter((reason) => reason !== 'no credentials'),
  }),
  reported_refusals_total: counter('Requests that would have been refused, but were only reported.', {
    reason: Object.keys(REPORTED_REASONS),
  }),
  token_checks_total: counter('Checks of access tokens, by their result.', { result: RESULTS }),

  write_batch_size: histogram('Token writes per transaction.', {}, SIZE_BUCKETS),
  commit_duration_seconds: histogram('Transactions that write tokens, without the fsync on SQLite.', {}, STORE_BUCKETS),
  disk_sync_duration_seconds: histogram('Each fsync; SQLite only.', {}, STORE_BUCKETS),
  database_round_trip_duration_seconds: histogram(
    'Each statement to the database and its answer; PostgreSQL only.',
    { kind: ROUND_TRIPS },
    STORE_BUCKETS,
  ),
  store_up: gauge('Whether the store can be used: 1 if so, 0 otherwise.'),
  database_bytes: gauge('The size of the store on disk.'),
  wal_bytes: gauge('The size of the write-ahead log on disk; SQLite only.'),
  purged_tokens_total: counter('Expired tokens that were deleted.'),
  oldest_expired_token_seconds: gauge('How long ago the oldest token that is still stored expired; 0 if none has.'),
  background_failures_total: counter('Background work that failed and is tried again.', {
    task: ['purge', 'usage', 'refusals', 'notices', 'issuer keys'],
  }),
  notice_attempts_total: counter('Attempts to post a notice, by their result.', { result: ['delivered', 'failed'] }),
  oldest_notice_seconds: gauge('For how long the oldest notice has waited to be delivered; 0 if none waits.'),
  database_losses_total: counter('How often a process lost its connection to the database; PostgreSQL only.'),
  clock_offset_seconds: gauge("How far the database's clock is ahead of this machine's; 0 on SQLite."),
  clock_jumps_total: counter("How often this machine's clock jumped."),

  scrypt_running: gauge('Imported secrets that are being checked.'),
  scrypt_waiting: gauge('Imported secrets that wait to be checked.'),
  log_lines_dropped_total: counter('Log lines dropped because there was no room for them.'),

  workers: gauge('Processes that answer requests.'),
  workers_expected: gauge('Processes that should answer requests.'),
  worker_restarts_total: counter('Workers that were replaced.', { reason: REPLACEMENT_REASONS }),
  worker_cpu_seconds_total: counter('CPU time of the processes that answer requests.', { worker: [] }),
  worker_resident_memory_bytes: gauge('Resident memory of a process that answers requests.', { worker: [] }),
  worker_event_loop_lag_seconds: gauge('The longest delay of its event loop within the last second.', {
    worker: [],
  }),

  secrets_ending: gauge('Applications and suites that have an active secret now, but soon will not.', {
    within: ['1d', '7d'],
  }),
  audit_head_id: gauge('The id of the newest audit event; 0 if there is none.'),
  last_backup_timestamp_seconds: gauge('When token-server backup last made a backup; 0 if never.'),
  build_info: gauge('Always 1; the labels describe what runs.', { version: [], node: [], store: [] }),
} satisfies Record<string, Metric>

function counter(help: string, labels: Metric['labels'] = {}): Metric {
  return { type: 'counter', help, labels }
}

function gauge(help: string, labels: Metric['labels'] = {}): Metric {
  return { type: 'gauge', help, labels }
}

function histogram(help: string, labels: Metric['labels'], buckets: readonly number[]): Metric {
  return { type: 'histogram', help, labels, buckets }
}
