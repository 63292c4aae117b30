import t from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import { HOUR } from '../../../src/domain/usage.ts'
import { purgeRows } from '../../../src/store/postgres/purge.ts'
import * as sql from '../../../src/store/shared/statements/audit.ts'
import * as usage from '../../../src/store/shared/statements/figures.ts'
import { OLD_ROWS, type OldRows } from '../../../src/store/shared/statements/purge.ts'
import { keepNewestRefusals, listLastRefused } from '../../../src/store/shared/statements/refusals.ts'
import * as registry from '../../../src/store/shared/statements/registry.ts'
import { query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { until } from '../../support/until.ts'
import { keyOf } from '../../support/world.ts'
import { open } from './stores.ts'

const { createDatabase } = await startDatabases()

const ROWS = 20_000

/** Events until the end of time. */
const ALL = Number.MAX_SAFE_INTEGER

/** One an hour. One row in a hundred has a different actor; each of the 200 subjects has a hundred rows. */
const EVENTS = `
  INSERT INTO audit_events (at, actor, actor_email, request_id, origin, remote_address, action, subject_kind, subject)
  SELECT n * ${HOUR}::bigint, CASE WHEN n % 100 = 0 THEN 'rare' ELSE 'robot' END, CASE WHEN n % 100 = 0 THEN 'rare@a' END,
         'r' || n / 10, 'API', 'h', 'a', 'application', 's' || n % 200
    FROM generate_series(1, ${ROWS}) n`

/** Twenty rows for each of a thousand applications, and a hundred newer ones of unknown client ids. */
const REFUSALS = `
  INSERT INTO refusals (owner_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at)
  SELECT CASE WHEN n > 20000 THEN 0 ELSE 1 + n % 1000 END, 'c', 'r', '/', '', n, 1, n, n
    FROM generate_series(1, 20100) n`

/** What a thousand applications did in each of twenty spans. */
const USAGE = `
  INSERT INTO usage_counts (span, since, owner_id, tokens, checks, refusals)
  SELECT 300000, n % 20, 1 + n / 20, 1, 1, 1 FROM generate_series(1, ${ROWS}) n`

/** Too many for PostgreSQL to prefer a sequential scan. */
const APPLICATIONS = `
  INSERT INTO applications (client_id, name, developer_email, created_at)
  SELECT 'client-id-' || n, 'Name ' || n, 'a@b.example', n FROM generate_series(1, ${ROWS}) n`

/** What as many applications got in one hour. */
const COUNTS = `
  INSERT INTO token_counts (hour, application_id, issued, refused) SELECT 5, id, 1, 0 FROM applications;
  INSERT INTO application_uses (application_id, last_token_at) SELECT id, 1 FROM applications`

const ANALYZED = [
  ...['audit_events', 'token_counts', 'application_uses', 'refusals', 'usage_counts', 'applications', 'secrets'],
]

const SECRETS = "INSERT INTO secrets (application_id, digest, created_at) SELECT id, 'd', 1 FROM applications"

t.test('PostgreSQL: an index finds pages of audit events, refusals, secrets, usage and applications', async (t) => {
  const url = await createDatabase()
  const rows = [EVENTS, REFUSALS, USAGE, APPLICATIONS, SECRETS, COUNTS]
  await query(url, `${rows.join('; ')}; ANALYZE ${ANALYZED.join(', ')}`)
  const ids = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => `client-id-${n * 7 + 1}`))
  const spans = Array.from({ length: 12 }, (_, n) => n)
  const recordUses = usage.recordUses('secret', 'FOR KEY SHARE SKIP LOCKED')
  const uses = JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ id: 7 * n + 1, at: 1 })))
  const plans: [statement: string, values: unknown[], index: string][] = [
    [recordUses, [uses], 'secrets_pkey'],
    [usage.listTokenCounts, ['[1,300,4000]', 5], 'token_counts_pkey[^]* application_uses_pkey'],
    [sql.listAuditEvents, [0, null, 50, ALL], 'audit_events_pkey'],
    [sql.listAuditEvents, [0, 10_000, 50, ALL], 'audit_events_pkey'],
    [sql.listAuditEvents, [(ROWS - 20) * HOUR, null, 50, ALL], 'audit_events_by_time'],
    [sql.listAuditEvents, [0, null, 50, 10_000 * HOUR], 'audit_events_by_time'],
    [sql.listAuditEventsOfActor, [0, null, 50, ALL, 'robot'], 'audit_events_(by_actor|pkey)'],
    [sql.listAuditEventsOfActor, [0, 10_000, 50, ALL, 'rare'], 'audit_events_by_actor'],
    [sql.listAuditEventsOfActor, [0, null, 50, ALL, 'nobody'], 'audit_events_by_actor'],
    [sql.listAuditEventsOfActor, [0, null, 50, ALL, 'rare@a'], 'audit_events_by_actor_email'],
    [sql.listAuditEventsOfSubject, [0, null, 50, ALL, 's7', null, null, 'application'], 'audit_events_by_subject'],
    [sql.listAuditEventsOfSubject, [0, 10_000, 50, ALL, 's7', 'robot', 'r100', null], 'audit_events_by_subject'],
    [sql.listAuditEventsOfRequest, [0, null, 50, ALL, 'r100', null], 'audit_events_by_request'],
    [sql.listAuditGroups, [0, null, 50, ALL], 'audit_events_by_(request|time)'],
    [sql.listUnchangedSince, ['["s7"]', ROWS], 'audit_events_by_subject'],
    [purgeRows(OLD_ROWS['audit events'][0] as OldRows), [100 * HOUR, 50], 'audit_events_pkey'],
    [sql.findAuditHead, [], 'audit_events_unchained'],
    [sql.listRemovals, [50], 'audit_events_removed'],
    [sql.listAcknowledged, [1, 50], 'audit_events_acknowledged'],
    [sql.listUnchained, [50], 'audit_events_(unchained|pkey)'],
    [sql.listAuditLinks, [10_000, 50], 'audit_events_pkey'],
    [listLastRefused, [100], 'refusals_by_time'],
    [keepNewestRefusals, ['[5,6,7]', 15, 90], 'refusals_pkey'],
    [usage.listUsage(12), [ids(5), 300_000, ...spans], 'usage_counts_pkey'],
    [usage.sumUsage(12), [7, 11, 300_000, ...spans], 'usage_counts_pkey'],
    [usage.listBusy, [7_000_000, 5], 'usage_counts_pkey'],
    [purgeRows(OLD_ROWS.usage[0] as OldRows), [7_200_001, 100], 'usage_counts_pkey'],
    [registry.listApplicationsOf, ['[1,300,4000]'], 'applications_pkey'],
    [registry.listOwnedSecrets, [7000, 100, false], 'secrets_pkey'],
    [registry.readApplications, ['["client-id-7"]'], 'applications_client_id_key'],
    [registry.findNamesakes, ['["Name 7"]'], 'applications_by_name'],
    [registry.insertSecrets, ['[{"owner":"client-id-7","digest":"d","createdAt":1}]'], 'applications_client_id_key'],
  ]
  for (const [statement, values, index] of plans) {
    const rows = await query(url, `EXPLAIN (ANALYZE, TIMING OFF) ${statement}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    t.match(plan, new RegExp(`Index .*${index}`))
    // Else each row would be compared with each owner.
    if (statement === recordUses) t.match(plan, 'hashed SubPlan')
    t.notMatch(plan, new RegExp(`Seq Scan on (${ANALYZED.join('|')})`))
    const counts = [...plan.matchAll(/actual rows=(\d+)|Rows Removed by Filter: (\d+)/g)]
    for (const [, read = 0, removed = 0] of counts) t.ok(Number(read) <= 100 && Number(removed) <= 100, plan)
  }
})

t.test('PostgreSQL: a plan made while there were no tokens finds them by the index later', async (t) => {
  const url = await createDatabase()
  const store = await open(t, locationOf(url))
  await query(url, 'VACUUM ANALYZE tokens')
  const { id } = mintToken(keyOf(1), 1).stored
  const scans = async () => {
    await store.findToken(id)
    const counts = "SELECT seq_scan::int, idx_scan::int FROM pg_stat_user_tables WHERE relname = 'tokens'"
    return (await query(url, counts))[0] as { seq_scan: number; idx_scan: number }
  }
  const before = await scans()
  let after = before
  // PostgreSQL counts with a delay.
  await until(async () => {
    after = await scans()
    return after.idx_scan + after.seq_scan > before.idx_scan + before.seq_scan + 10
  })
  t.equal(after.seq_scan, before.seq_scan)
})
