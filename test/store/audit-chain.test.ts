import { hash } from 'node:crypto'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type AuditVerdict, findHead, verifyAudit } from '../../src/administration/audit-chain.ts'
import type { AuditHead } from '../../src/domain/audit-chain.ts'
import { AUDIT_LIFETIME, type Audit } from '../../src/domain/audit-event.ts'
import { parseDatabaseUrl } from '../../src/domain/database-location.ts'
import type { Store } from '../../src/domain/store.ts'
import { openStore } from '../../src/store/open.ts'
import { application } from '../support/newcomers.ts'
import { AUDIT, on } from '../support/on.ts'
import { query } from '../support/postgres/databases.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { START } from '../support/world.ts'

/** A store with its audit events, and somebody who changes them with SQL. */
interface Subject {
  store: Store
  /** Resolves to the rows. */
  sql: (statement: string) => Promise<Record<string, unknown>[]>
  /** What is found, with a head if one was kept. */
  verify: (known?: AuditHead) => Promise<AuditVerdict>
  head: () => Promise<AuditHead>
}

/** When a program chains what another one has written. */
const NOW = START + 1_000_000

const at = (time: number): Audit => ({ ...AUDIT, at: START + time })

/** What a program of 1.0.0 writes. */
const OF_1_0_0 = `INSERT INTO audit_events (at, actor, origin, remote_address, action, subject_kind, subject, before, after)
  VALUES (${START + 7}, 'old', 'API', 'h', 'application suspended', 'application', 'a', '{"status":"active"}', '{"status":"suspended"}')`

/** The hash as docs/storage.md describes it. */
const COLUMNS = `id, at, actor, actor_email, origin, remote_address, request_id, action, subject_kind, subject, before, after,
  chained_at, previous_at, previous_hash`
const NUMBERS = ['id', 'at', 'chained_at', 'previous_at']
const hashOf = (row: Record<string, unknown>) =>
  hash(
    'sha256',
    JSON.stringify(
      COLUMNS.split(/,\s+/).map((name) =>
        NUMBERS.includes(name) && row[name] !== null ? Number(row[name]) : row[name],
      ),
    ),
    'base64url',
  )

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  const test = (rule: string, run: (t: Test, subject: Subject) => Promise<void>) =>
    t.test(`Audit chain: on ${name} ${rule}`, async (t) => {
      const { DATABASE_URL: url } = await createEnv(t)
      const location = parseDatabaseUrl(url)
      const store = await openStore(location, { lockTimeout: 2000 })
      t.teardown(() => store.close())
      await store.register({ suites: [], applications: ['a', 'b', 'ü "✓"'].map((id) => application(id)) }, at(0))
      await on(store).setStatus('a', 'suspended', at(1))
      await on(store).setStatus('a', 'active', at(2))
      await run(t, {
        store,
        async sql(statement) {
          if (location.kind === 'postgres') return query(url, statement)
          const db = new Database(location.file)
          try {
            const prepared = db.prepare(statement)
            return (prepared.reader ? prepared.all() : [prepared.run()]) as Record<string, unknown>[]
          } finally {
            db.close()
          }
        },
        verify: (known) => verifyAudit(store, NOW, known),
        head: async () => (await findHead(store, NOW)) as AuditHead,
      })
    })

  test('each event has the hash of what is stored and of the event before', async (t, { store, sql, verify, head }) => {
    const rows = await sql(`SELECT ${COLUMNS}, hash FROM audit_events ORDER BY id`)
    t.equal(rows.length, 5)
    t.strictSame(
      rows.map(({ hash }) => hash),
      rows.map(hashOf),
    )
    t.strictSame(
      rows.map(({ previous_hash }) => previous_hash),
      [null, ...rows.slice(0, -1).map(({ hash }) => hash)],
    )
    t.match(await verify(), { events: 5, late: 0, problem: undefined, first: { id: 1 }, last: { id: 5 } })
    const last = rows.at(-1)
    t.strictSame(await head(), { id: 5, at: START + 2, hash: last?.hash })
    t.match((await store.measure(START)).auditHead, await head())
    await on(store).setStatus('a', 'suspended', { ...at(3), isTrial: true })
    t.equal((await head()).id, 5, 'a dry run adds none')
    await on(store).setStatus('a', 'suspended', at(3))
    t.match(await verify(), { events: 6, problem: undefined })
  })

  test('the first event that was changed, removed, added or moved is named', async (t, { sql, verify, head }) => {
    const known = await head()
    const copy = `INSERT INTO audit_events (${COLUMNS}, hash) SELECT ${COLUMNS.replace('id', '0')}`
    const swap = (one: number, other: number) => `UPDATE audit_events SET id = ${other} WHERE id = ${one}`
    const changes: [statements: string[], event: number, text: RegExp][] = [
      [
        ["UPDATE audit_events SET actor = 'nobody' WHERE id = 3"],
        3,
        /^Event 3 \(application registered .*\) is not as it/,
      ],
      [
        ['UPDATE audit_events SET request_id = NULL, at = at + 1 WHERE id = 5'],
        5,
        /^Event 5 .* is not as it was written/,
      ],
      [['UPDATE audit_events SET hash = NULL WHERE id = 5'], 5, /^Event 5 .* is not as it was written/],
      [
        ["UPDATE audit_events SET hash = 'x' WHERE id = 1"],
        1,
        /^Event 1 .*: it was changed, moved or added by hand\.$/,
      ],
      [
        ['DELETE FROM audit_events WHERE id IN (2, 3)'],
        4,
        /^Event 4 .* does not follow event 1: .* were removed by hand\.$/,
      ],
      [['DELETE FROM audit_events WHERE id < 3'], 3, /^Event 3 .* is not the first one: .* older than 400 days\.$/],
      [[swap(2, 9), swap(4, 2), swap(9, 4)], 2, /^Event 2 .* is not as it was written/],
      [[`${copy}, hash FROM audit_events WHERE id = 5`], 0, /^Event 0 .* is not as it was written/],
      // The program gives it a hash.
      [
        [`${copy}, NULL FROM audit_events WHERE id = 5`, 'UPDATE audit_events SET chained_at = NULL WHERE id = 0'],
        0,
        /^Event 0 .* was added by hand\.$/,
      ],
    ]
    const rows = await sql(`SELECT ${COLUMNS}, hash FROM audit_events`)
    const restore = async () => {
      await sql('DELETE FROM audit_events')
      const text = (value: unknown) => (value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`)
      const values = rows.map(
        (row) => `(${Object.values(row).map((value) => (/^\d+$/.test(String(value)) ? value : text(value)))})`,
      )
      await sql(`INSERT INTO audit_events (${COLUMNS}, hash) VALUES ${values}`)
    }
    for (const [statements, event, text] of changes) {
      for (const statement of statements) await sql(statement)
      const { problem } = await verify(known)
      t.match(problem, { event, text }, String(statements))
      await restore()
      t.match(await verify(known), { events: 5, problem: undefined }, 'it is as it was')
    }
  })

  test('a head that was kept elsewhere shows that the end was removed, or all hashes made anew', async (t, subject) => {
    const { store, sql, verify, head } = subject
    const known = await head()
    await on(store).setStatus('b', 'suspended', at(3))
    t.match(await verify(known), { events: 6, problem: undefined })
    await sql('DELETE FROM audit_events WHERE id >= 5')
    t.match(await verify(), { events: 4, problem: undefined })
    t.match((await verify(known)).problem, {
      event: 5,
      text: /^Event 5 of the head is not there: .*"database restored"\)\.$/,
    })
    await on(store).setStatus('b', 'active', at(4))
    t.match((await verify(known)).problem, { event: 5 }, 'nor after later events')
    await sql("UPDATE audit_events SET actor = 'nobody', hash = NULL, chained_at = NULL WHERE id = 3")
    await sql('UPDATE audit_events SET chained_at = NULL WHERE id > 3')
    const later = { ...known, id: 4 }
    t.match(await verify(), { problem: undefined, late: 3 }, 'the program has chained them again')
    t.match((await verify(later)).problem, {
      event: 4,
      text: /^Event 4 .* is not that of the head: .*"database restored"\)\.$/,
    })
    await sql('DELETE FROM audit_events')
    t.match(await verify(), { events: 0, first: undefined, problem: undefined })
    t.match((await verify(known)).problem, { event: 5 })
    t.equal(await findHead(store, START), undefined)
  })

  test('events of an older program are chained by the next change, and counted', async (t, {
    store,
    sql,
    verify,
    head,
  }) => {
    await sql(OF_1_0_0)
    t.equal((await store.findAuditHead())?.id, 5, 'the head is the last one that is chained')
    await on(store).setStatus('a', 'suspended', at(9))
    const rows = await sql('SELECT chained_at FROM audit_events ORDER BY id')
    t.strictSame(
      rows.slice(-2).map(({ chained_at }) => chained_at && Number(chained_at)),
      [START + 9, START + 9],
    )
    t.match(await verify(), { events: 7, late: 1, lastLate: { id: 6, chainedAt: START + 9 }, problem: undefined })
    t.equal((await head()).id, 7)
    await sql(OF_1_0_0)
    await sql(OF_1_0_0)
    const chain = () => store.chainAuditEvents(1, START + 10)
    t.strictSame([await chain(), await chain(), await chain()], [true, true, false])
    await sql(OF_1_0_0)
    t.match(await verify(), { events: 10, late: 4, lastLate: { id: 10, chainedAt: NOW }, problem: undefined })
    await sql(`UPDATE audit_events SET subject = 'b' WHERE id = 6`)
    t.match(await verify(), { events: 5, problem: { event: 6 } }, 'from then on they are as safe as others')
  })

  test('events from before the chain are chained oldest first, and a change does not wait for all', async (t, subject) => {
    const { store, sql, verify } = subject
    const ids = Array.from({ length: 1010 }, (_, n) => application(`n${n}`))
    await store.register({ suites: [], applications: ids }, at(3))
    await sql('UPDATE audit_events SET chained_at = NULL, hash = NULL, previous_hash = NULL, previous_at = NULL')
    t.equal(await store.findAuditHead(), undefined)
    await on(store).setStatus('b', 'suspended', at(4))
    t.equal((await store.findAuditHead())?.id, 1000)
    t.match(await verify(), { events: 1016, late: 1016, problem: undefined })
  })

  test('an event of the future does not excuse that older ones were removed', async (t, {
    store,
    sql,
    verify,
    head,
  }) => {
    const known = await head()
    await on(store).setStatus('b', 'suspended', at(AUDIT_LIFETIME + 1_000_000_000))
    await sql('DELETE FROM audit_events WHERE id < 5')
    t.match((await verify(known)).problem, { event: 5, text: /were removed by hand/ })
    await sql('DELETE FROM audit_events WHERE id < 6')
    t.match((await verify(known)).problem, { event: 6 })
  })

  test('what the purge leaves is one chain, also if it deletes while the events are verified', async (t, subject) => {
    const { store, sql, head } = subject
    const DAYS = AUDIT_LIFETIME
    const verify = (known?: AuditHead) => verifyAudit(store, START + DAYS + 5, known)
    const ids = Array.from({ length: 1100 }, (_, n) => application(`n${n}`))
    await store.register({ suites: [], applications: ids }, at(3))
    const old = await head()
    await on(store).setStatus('b', 'suspended', at(DAYS))
    // By a clock that is behind.
    await on(store).setStatus('b', 'active', at(DAYS - 1))
    await on(store).setStatus('b', 'suspended', at(DAYS + 4))
    const purge = (before: number) => store.purge('audit events', START + before, 2000)
    t.equal(await purge(2), 4, 'as many as are older in a row')
    t.match(await verify(old), { events: 1104, first: { id: 5, previousAt: START + 1 }, problem: undefined })
    let reads = 0
    const meanwhile: Store['listAuditLinks'] = async (page) => {
      if (++reads === 2) await purge(4)
      return store.listAuditLinks(page)
    }
    const trail = { ...store, listAuditLinks: meanwhile }
    t.match(await verifyAudit(trail, START + DAYS + 5), { first: { id: 1106 }, last: { id: 1108 }, problem: undefined })
    t.match(await verify(), { events: 3, first: { id: 1106 }, problem: undefined })
    await t.rejects(verify(old), { name: 'OperatorError', message: /^Event 1105 of the head was so old / })
    t.equal(await purge(DAYS), 0, 'one that is older stays until those before it are')
    await sql('DELETE FROM audit_events WHERE id = 1106')
    t.match((await verify()).problem, { event: 1107 }, 'not that of the purge')
  })
}
