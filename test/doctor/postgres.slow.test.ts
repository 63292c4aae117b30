import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { checkStore } from '../../src/doctor/store.ts'
import type { Event } from '../../src/domain/events.ts'
import { openStores } from '../../src/server/serve.ts'
import { openStore } from '../../src/store/open.ts'
import { query } from '../support/postgres/databases.ts'
import { startPostgres } from '../support/postgres/postgres.ts'
import { until } from '../support/until.ts'

t.test('Doctor on PostgreSQL: settings that can lose what was answered are errors, or a warning', async (t) => {
  const server = await startPostgres(t, { durable: true })
  const url = await server.createDatabase()
  const logged: Event[] = []
  async function found(DATABASE_URL: string) {
    const config = readConfig({ DATABASE_URL })
    const store = await openStores(config, { lockTimeout: 1000 }, (event) => logged.push(event))
    await store.close()
    const all = await checkStore(config.DATABASE_URL, Date.now)
    return all.filter(({ subject }) => subject === 'durability')
  }
  const several = url.replace(/@([^/]+)/, '@$1,$1')
  t.strictSame(await found(url), [])
  t.match(logged.splice(0), [{ type: 'database created' }])
  t.match(await found(several), [{ level: 'warning', text: /none is a synchronous standby/, advice: /postgresql\.md/ }])
  server.configure({ fsync: 'off', full_page_writes: 'off' })
  await server.kill('SIGTERM')
  await server.start()
  t.match(await found(url), [
    { level: 'error', text: 'PostgreSQL has fsync=off: a power cut can destroy the database.' },
    { level: 'error', text: /^PostgreSQL has full_page_writes=off/ },
  ])
  t.strictSame(logged, [
    { type: 'database may lose data', settings: ['synchronous_standby_names='] },
    { type: 'database may lose data', settings: ['fsync=off', 'full_page_writes=off'] },
  ])
})

t.test('Doctor on PostgreSQL: a primary whose commits wait for a standby is not ok', async (t) => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  const { DATABASE_URL } = readConfig({ DATABASE_URL: url })
  await (await openStore(DATABASE_URL, { lockTimeout: 1000 })).close()
  const errors = async () =>
    (await checkStore(DATABASE_URL, Date.now))
      .filter(({ subject }) => subject === 'store')
      .filter(({ level }) => level === 'error')
  const waitFor = async (standby: string) => {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`)
    await server.query('SELECT pg_reload_conf()')
  }
  t.strictSame(await errors(), [])
  await waitFor('nobody')
  const commit = query(url, "SELECT pg_logical_emit_message(true, 'test', '')")
  await until(async () => (await errors()).length > 0)
  t.match(await errors(), [{ subject: 'store', text: /commits wait for a standby that does not answer/ }])
  await waitFor('')
  await commit
  t.strictSame(await errors(), [])
})
