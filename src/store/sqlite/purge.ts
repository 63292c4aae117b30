import type { Statement } from 'better-sqlite3'
import { CLOCKS_APART } from '../../domain/operator.ts'
import type { Purgeable, Store } from '../../domain/store.ts'
import { firstTokenIdAt } from '../../domain/token.ts'
import { hourOf, SPANS } from '../../domain/usage.ts'
import type { Context } from './context.ts'

export const PURGES: Record<Purgeable, string[]> = {
  // A range, which SQLite deletes in one pass.
  tokens: [
    `DELETE FROM tokens
      WHERE id < coalesce((SELECT id FROM tokens WHERE id < $1 ORDER BY id LIMIT 1 OFFSET $2), $1)`,
  ],
  'token counts': [
    `DELETE FROM token_counts
      WHERE (hour, application_id) IN (
        SELECT hour, application_id FROM token_counts WHERE hour < $1 ORDER BY hour, application_id LIMIT $2)`,
  ],
  usage: SPANS.map(
    ({ span, kept }) => `DELETE FROM usage_counts
      WHERE (span, since, owner_id) IN (
        SELECT span, since, owner_id FROM usage_counts WHERE span = ${span} AND since < $1 - ${kept} ORDER BY since LIMIT $2)`,
  ),
  refusals: [
    `DELETE FROM refusals
      WHERE rowid IN (SELECT rowid FROM refusals WHERE last_at < $1 ORDER BY last_at LIMIT $2)`,
  ],
  'refused requests': [
    `DELETE FROM refused_requests WHERE id IN (SELECT id FROM refused_requests ORDER BY id LIMIT $2) AND at < $1`,
  ],
  'audit events': [
    `DELETE FROM audit_events WHERE id IN (SELECT id FROM audit_events WHERE at < $1 ORDER BY at LIMIT $2)`,
  ],
  'idempotency records': [
    `DELETE FROM idempotency_keys
      WHERE digest IN (SELECT digest FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
  ],
  'sign-ins': [
    `DELETE FROM login_codes WHERE digest IN (SELECT digest FROM login_codes WHERE ends_at <= $1 LIMIT $2)`,
    `DELETE FROM hand_over_links WHERE id IN (SELECT id FROM hand_over_links WHERE ends_at <= $1 LIMIT $2)`,
    `DELETE FROM sessions
      WHERE id IN (SELECT id FROM sessions WHERE ends_at <= $1 OR last_seen_at > $1 + ${CLOCKS_APART} LIMIT $2)`,
  ],
}

/** Purges are not flushed to disk: the next change flushes them, too. */
export function createPurge({ db, write }: Context): Store['purge'] {
  const prepared = Object.fromEntries(
    Object.entries(PURGES).map(([what, statements]) => [what, statements.map((sql) => db.prepare(sql))]),
  ) as Record<Purgeable, Statement[]>

  return (what, before, limit) => {
    const from = what === 'tokens' ? firstTokenIdAt(before) : what === 'token counts' ? hourOf(before) : before
    return write(() =>
      prepared[what].reduce((count, statement) => count + statement.run({ 1: from, 2: limit }).changes, 0),
    )
  }
}
