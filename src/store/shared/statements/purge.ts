import { CLOCKS_APART } from '../../../domain/operator.ts'
import type { Purgeable } from '../../../domain/store.ts'
import { SPANS } from '../../../domain/usage.ts'
import { NAMED } from './issuers.ts'

/** A table, what identifies its rows on SQLite, and which of them are old: before $1. At most $2 are deleted. */
export type OldRows = [table: string, key: string, old: string]

export const OLD_ROWS: Record<Exclude<Purgeable, 'tokens'>, OldRows[]> = {
  'token counts': [['token_counts', 'hour, application_id', 'hour < $1 ORDER BY hour, application_id']],
  usage: SPANS.map(({ span, kept }) => [
    'usage_counts',
    'span, since, owner_id',
    `span = ${span} AND since < CAST($1 AS bigint) - ${kept} ORDER BY since`,
  ]),
  refusals: [['refusals', 'rowid', 'last_at < $1 ORDER BY last_at']],
  // Searched among the first rows by id, because there is no index on the time.
  'refused requests': [
    [
      'refused_requests',
      'id',
      'at < $1 AND id <= (SELECT max(id) FROM (SELECT id FROM refused_requests ORDER BY id LIMIT $2) oldest) ORDER BY id',
    ],
  ],
  // Those before the first one that is younger, so that what is left is one chain: clocks go back, and differ between nodes.
  'audit events': [
    [
      'audit_events',
      'id',
      `id < (SELECT coalesce(min(CASE WHEN at >= $1 THEN id END), max(id) + 1)
               FROM (SELECT id, at FROM audit_events ORDER BY id LIMIT $2) oldest) ORDER BY id`,
    ],
  ],
  'idempotency records': [['idempotency_keys', 'digest', 'created_at < $1 ORDER BY created_at']],
  // Those that no active credential names.
  issuers: [
    [
      'federated_issuers',
      'issuer',
      `NOT EXISTS (SELECT 1 FROM secrets WHERE keys_from = federated_issuers.issuer AND ${NAMED}) ORDER BY issuer`,
    ],
  ],
  'sign-ins': [
    ['login_codes', 'digest', 'ends_at <= $1'],
    ['hand_over_links', 'id', 'ends_at <= $1'],
    ['sessions', 'id', `(ends_at <= $1 OR last_seen_at > $1 + ${CLOCKS_APART})`],
  ],
}
