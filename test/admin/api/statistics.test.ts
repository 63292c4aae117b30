import t from 'tap'
import { operationsOf, type Schema } from '../../../reference/description.ts'
import { createAdminWorld } from '../../support/admin.ts'
import { problems } from '../../support/openapi/schemas.ts'
import { ADMIN_DESCRIPTION } from '../../support/openapi/undescribed.ts'
import { serverNode } from '../../support/server-node.ts'
import { statisticsOf, traffic } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const TRAFFIC = {
  tokens: 101,
  active_checks: 1999,
  inactive_checks: 1,
  refusals: 1,
  token_latency: { p50_seconds: 0.002, p99_seconds: 0.009 },
  check_latency: { p50_seconds: 0.0004, p99_seconds: 0.0021 },
}

const NODE = {
  version: '1.2.3',
  started_at: '2027-01-15T08:00:00.000Z',
  last_seen_at: '2027-01-15T08:00:00.000Z',
  workers: { expected: 2, serving: 1 },
  last_minute: { tokens: 3, checks: 4, refusals: 5 },
}

/** Statistics in which every field has a value. */
const FULL = {
  lastMinute: traffic(1),
  refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 3 }],
  endingSecrets: { inADay: 1, inAWeek: 2, next: [{ kind: 'suite', id: 'store', name: 'Store', endsAt: START }] },
  workers: { expected: 2, serving: 1, each: [{ worker: 2, cpuSeconds: 0.5, residentBytes: 7, lagSeconds: 0.01 }] },
  nodes: [
    { ...serverNode({ name: 'web-1:8080', startedAt: START, lastSeenAt: START }), isThis: true, isGone: false },
    { ...serverNode({ name: 'web-2:8080', startedAt: START, lastSeenAt: START }), isThis: false, isGone: true },
  ],
  store: { kind: 'sqlite', isUp: true, databaseBytes: 4096, logBytes: 1, lastBackupAt: START },
}

t.test('Statistics API: every admin key may read the statistics', async (t) => {
  const { ask, statistics } = await createAdminWorld(t)
  Object.assign(statistics, FULL)
  const answer = await ask('/admin/v1/statistics', { as: 'viewer' })
  t.equal(answer.statusCode, 200)
  const { minutes, ...rest } = answer.json()
  const at = '2027-01-15T08:00:00.000Z'
  t.strictSame(rest, {
    at,
    started_at: '2027-01-15T07:59:50.000Z',
    version: '1.2.3',
    last_minute: TRAFFIC,
    last_hour: {
      ...Object.fromEntries(Object.keys(TRAFFIC).map((name) => [name, 0])),
      token_latency: null,
      check_latency: null,
    },
    refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 3 }],
    live_tokens: { count: 0, is_exact: true },
    ending_secrets: { in_a_day: 1, in_a_week: 2, next: [{ kind: 'suite', id: 'store', name: 'Store', ends_at: at }] },
    workers: { expected: 2, serving: 1, each: [{ worker: 2, cpu_seconds: 0.5, resident_bytes: 7, lag_seconds: 0.01 }] },
    nodes: [
      { name: 'web-1:8080', is_this: true, is_gone: false, ...NODE },
      { name: 'web-2:8080', is_this: false, is_gone: true, ...NODE },
    ],
    store: { kind: 'sqlite', is_up: true, database_bytes: 4096, log_bytes: 1, last_backup_at: at },
  })
  t.equal(minutes.length, 61)
  t.strictSame(minutes[0], { ended_at: '2027-01-15T07:00:00.000Z', traffic: null })
  t.match(minutes[60], { ended_at: at, traffic: { tokens: 0 } })
})

t.test('Statistics API: unknown values are null', async (t) => {
  const { ask, statistics } = await createAdminWorld(t)
  const { store } = statisticsOf()
  Object.assign(statistics, {
    liveTokens: undefined,
    endingSecrets: undefined,
    store: { ...store, databaseBytes: undefined, logBytes: undefined },
  })
  t.match((await ask('/admin/v1/statistics', { as: 'admin' })).json(), {
    live_tokens: null,
    ending_secrets: null,
    store: { database_bytes: null, log_bytes: null, last_backup_at: null },
  })
})

t.test('Statistics API: every field of a response matches its schema', async (t) => {
  const { ask, statistics } = await createAdminWorld(t)
  const showStatistics = operationsOf(ADMIN_DESCRIPTION).find(({ operationId }) => operationId === 'showStatistics')
  const schema = showStatistics?.responses[200]?.content?.['application/json']?.schema as Schema
  Object.assign(statistics, FULL)
  const body = (await ask('/admin/v1/statistics', { as: 'viewer' })).json()
  t.strictSame(problems(schema, body), [])
  for (const list of [body.nodes, body.workers.each, body.refusals, body.ending_secrets.next]) {
    t.equal(list.length > 0, true)
    t.not(problems(schema, { ...body, list }).length, 0, 'no other field')
    list[0].other = 1
    t.not(problems(schema, body).length, 0, 'nor in an item')
    delete list[0].other
  }
})

t.test('Statistics API: a request without a key is refused', async (t) => {
  const { ask } = await createAdminWorld(t)
  t.equal((await ask('/admin/v1/statistics')).statusCode, 401)
})
