import { CLOCKS_APART } from '../../domain/operator.ts'
import type { Purgeable, Store } from '../../domain/store.ts'
import { firstTokenIdAt } from '../../domain/token.ts'
import { hourOf, SPANS } from '../../domain/usage.ts'
import { singleValue } from '../shared/work.ts'
import type { Commands } from './commands.ts'

// Each statement skips locked rows: the next purge deletes them.

// Under a lock, so that only one node does it at a time. By ctid, which costs a quarter of a join by id.
const purgeTokens = `
  WITH deleted AS (
    DELETE FROM tokens
     WHERE ctid = ANY (ARRAY(
             SELECT ctid
               FROM tokens
              WHERE id < $1::uuid AND (SELECT pg_try_advisory_xact_lock(7033017, 2))
              ORDER BY id
              LIMIT $2
                FOR UPDATE SKIP LOCKED))
    RETURNING 1
  )
  SELECT count(*) FROM deleted`

const purgeTokenCounts = `
  WITH old AS (
    SELECT hour, application_id
      FROM token_counts
     WHERE hour < $1
     ORDER BY hour, application_id
     LIMIT $2
       FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM token_counts t USING old WHERE (t.hour, t.application_id) = (old.hour, old.application_id) RETURNING 1
  )
  SELECT count(*) FROM deleted`

const old = ({ span, kept }: (typeof SPANS)[number]) => `
             SELECT ctid FROM (
               SELECT ctid
                 FROM usage_counts
                WHERE span = ${span} AND since < CAST($1 AS bigint) - ${kept}
                ORDER BY since
                LIMIT $2
                  FOR UPDATE SKIP LOCKED) of_span`

export const purgeUsage = `
  WITH deleted AS (
    DELETE FROM usage_counts WHERE ctid = ANY (ARRAY(${SPANS.map(old).join(' UNION ALL ')})) RETURNING 1
  )
  SELECT count(*) FROM deleted`

const purgeRefusals = `
  WITH old AS (
    SELECT owner_id, client_id, reason, endpoint, suite, remote_address
      FROM refusals
     WHERE last_at < $1
     ORDER BY last_at
     LIMIT $2
       FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM refusals r
     USING old
     WHERE (r.owner_id, r.client_id, r.reason, r.endpoint, r.suite, r.remote_address)
         = (old.owner_id, old.client_id, old.reason, old.endpoint, old.suite, old.remote_address)
    RETURNING 1
  )
  SELECT count(*) FROM deleted`

// Locks only what it deletes: a lock is a write, and there is rarely anything to delete.
const purgeRefusedRequests = `
  WITH old AS (
    SELECT id
      FROM refused_requests
     WHERE id IN (SELECT id FROM (SELECT id, at FROM refused_requests ORDER BY id LIMIT $2) oldest WHERE at < $1)
       FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM refused_requests WHERE id IN (SELECT id FROM old) RETURNING 1
  )
  SELECT count(*) FROM deleted`

export const purgeAuditEvents = `
  WITH old AS (
    SELECT id FROM audit_events WHERE at < $1 ORDER BY at, id LIMIT $2 FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM audit_events WHERE id IN (SELECT id FROM old) RETURNING 1
  )
  SELECT count(*) FROM deleted`

const purgeIdempotencyRecords = `
  WITH old AS (
    SELECT digest FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM idempotency_keys WHERE digest IN (SELECT digest FROM old) RETURNING 1
  )
  SELECT count(*) FROM deleted`

const purgeSignIns = `
  WITH codes AS (
    DELETE FROM login_codes
     WHERE digest IN (SELECT digest FROM login_codes WHERE ends_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1
  ), links AS (
    DELETE FROM hand_over_links
     WHERE id IN (SELECT id FROM hand_over_links WHERE ends_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1
  ), ended AS (
    DELETE FROM sessions
     WHERE id IN (
       SELECT id
         FROM sessions
        WHERE ends_at <= $1 OR last_seen_at > $1 + ${CLOCKS_APART}
        LIMIT $2
          FOR UPDATE SKIP LOCKED)
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM codes) + (SELECT count(*) FROM links) + (SELECT count(*) FROM ended)`

const IN_BACKGROUND: Record<Exclude<Purgeable, 'tokens'>, string> = {
  'token counts': purgeTokenCounts,
  usage: purgeUsage,
  refusals: purgeRefusals,
  'refused requests': purgeRefusedRequests,
  'audit events': purgeAuditEvents,
  'idempotency records': purgeIdempotencyRecords,
  'sign-ins': purgeSignIns,
}

export function createPurge({ ask, askInBackground }: Commands): Store['purge'] {
  return (what, before, limit) => {
    if (what === 'tokens') return singleValue(ask(purgeTokens, [firstTokenIdAt(before).toString('hex'), limit]))
    const from = what === 'token counts' ? hourOf(before) : before
    return singleValue(askInBackground(IN_BACKGROUND[what], [from, limit]))
  }
}
