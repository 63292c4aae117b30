import t from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import type { Opened } from '../../../src/store/open.ts'
import { logged } from '../../support/logged.ts'
import { holdOpen, query } from '../../support/postgres/databases.ts'
import { refusal } from '../../support/refusal.ts'
import { serverNode } from '../../support/server-node.ts'
import { newKey } from '../conformance/harness.ts'
import { startStores } from './stores.ts'

// They wait for a lock for longer than the background does.
const openStores = await startStores(1, 5000)

async function open() {
  const { url, events, stores } = await openStores()
  const [store] = stores
  const key = await newKey(store, 'a')
  return { url, store, events, newToken: () => mintToken(key, Date.now()).stored }
}

/** What no request is for, and the tables that it needs and tokens do not. */
const QUESTIONS: { name: string; table: string; ask: (store: Opened) => Promise<unknown> }[] = [
  { name: 'the last backup', table: 'backups', ask: (store) => store.lastBackupAt() },
  { name: 'the secrets that end', table: 'secrets', ask: (store) => store.countEndingSecrets(0, 1) },
  { name: 'whose secrets end', table: 'secrets', ask: (store) => store.listEndingSecrets(0, 1, 1) },
  { name: 'the live tokens', table: 'applications', ask: (store) => store.countLiveTokens(Buffer.alloc(16), 1) },
  { name: 'the tokens of an hour', table: 'token_counts', ask: (store) => store.countIssued(1) },
  { name: 'the last refusals', table: 'refusals', ask: (store) => store.listRefusals('a') },
  { name: 'the list of nodes', table: 'nodes', ask: (store) => store.nodes?.list(1) ?? Promise.resolve() },
  { name: 'what a node tells', table: 'nodes', ask: (store) => store.nodes?.record(serverNode()) ?? Promise.resolve() },
  {
    name: 'the end of a node',
    table: 'nodes',
    ask: (store) => store.nodes?.remove(serverNode().id) ?? Promise.resolve(),
  },
  { name: 'who was refused last', table: 'refusals', ask: (store) => store.listLastRefused(1) },
  { name: 'a purge of refusals', table: 'refusals', ask: (store) => store.purgeRefusals(1, 1) },
  { name: 'a purge of counts', table: 'token_counts', ask: (store) => store.purgeTokenCounts(1, 1) },
]

for (const { name, table, ask } of QUESTIONS) {
  t.test(`Background: ${name} gives up where a table is locked, and tokens are issued`, async (t) => {
    const { url, store, events, newToken } = await open()
    const end = await holdOpen(t, url, `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    await t.rejects(ask(store), { name: 'StoreUnavailable', message: /55P03/ })
    await store.addToken(newToken())
    await end()
    await t.resolves(ask(store))
    t.strictSame(logged(events), [], 'by the same session')
  })
}

t.test('Background: what takes long is given up by the server, and tokens are issued', async (t) => {
  const { url, store, events, newToken } = await open()
  const view = 'CREATE VIEW backups AS SELECT 1::bigint AS made_at FROM pg_sleep(60)'
  await query(url, `ALTER TABLE backups RENAME TO slow; ${view}`)
  await t.rejects(store.lastBackupAt(), { name: 'StoreUnavailable', message: /57014/ })
  await store.addToken(newToken())
  t.ok((await store.size()).database > 0)
  t.strictSame(logged(events), [])
  await query(url, 'DROP VIEW backups; ALTER TABLE slow RENAME TO backups')
})

/** Has the database note how each transaction that changes these tables commits. */
const NOTE_COMMITS = `
  CREATE TABLE noted (how text);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO noted VALUES (current_setting('synchronous_commit'));
      RETURN NULL;
    END $$;
  CREATE TRIGGER note AFTER INSERT OR DELETE ON refusals EXECUTE FUNCTION note();
  CREATE TRIGGER note AFTER INSERT OR DELETE ON token_counts EXECUTE FUNCTION note()`

t.test('Background: refusals and purges wait for no disk, and no standby', async (t) => {
  const { url, store } = await open()
  await query(url, NOTE_COMMITS)
  await store.recordRefusals([refusal('x... (9 characters)', { isKnown: false, firstAt: 1, lastAt: 1 })])
  t.equal(await store.purgeRefusals(2, 10), 1)
  await store.purgeTokenCounts(1, 10)
  const [{ commits }] = await query(url, 'SELECT array_agg(DISTINCT how) AS commits FROM noted')
  t.strictSame(commits, ['off'])
})
