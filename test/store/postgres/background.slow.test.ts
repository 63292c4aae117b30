import t from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import { HOUR } from '../../../src/domain/usage.ts'
import type { Opened } from '../../../src/store/opened.ts'
import { logged } from '../../support/logged.ts'
import { holdOpen, query } from '../../support/postgres/databases.ts'
import { refusal } from '../../support/refusal.ts'
import { serverNode } from '../../support/server-node.ts'
import { newKey } from '../conformance/harness.ts'
import { startStores } from './stores.ts'

// Their lock time-out is longer than that of background statements.
const openStores = await startStores(1, 5000)

async function open() {
  const { url, events, stores } = await openStores()
  const [store] = stores
  const key = await newKey(store, 'a')
  return { url, store, events, newToken: () => mintToken(key, Date.now()).stored }
}

/** Background work, and a table that it needs and token requests do not. */
const BACKGROUND: [name: string, table: string, ask: (store: Opened) => Promise<unknown> | undefined][] = [
  ['the last backup', 'backups', (store) => store.measure(0)],
  ['the number of ending secrets', 'secrets', (store) => store.measure(0)],
  ['the ending secrets', 'secrets', (store) => store.listEndingSecrets(0, 1, 1)],
  ['the live tokens', 'applications', (store) => store.countLiveTokens(Buffer.alloc(16), 1)],
  ['the usage of an hour', 'usage_counts', (store) => store.listUsage([''], 1, [1])],
  ['the last refusals', 'refusals', (store) => store.listRefusals('a')],
  ['the clients refused last', 'refusals', (store) => store.listLastRefused(1)],
  ['the refused requests', 'refused_requests', (store) => store.listRefusedRequests({ limit: 1 })],
  ['the list of nodes', 'nodes', (store) => store.nodes?.list(1)],
  ['the report of a node', 'nodes', (store) => store.nodes?.record(serverNode())],
  ['the end of a node', 'nodes', (store) => store.nodes?.remove(serverNode().id)],
  ['a purge of refusals', 'refusals', (store) => store.purge('refusals', 1, 1)],
  ['a purge of counts', 'token_counts', (store) => store.purge('token counts', 1 * HOUR, 1)],
]

t.test('Background: work on a locked table is given up, and the same session goes on issuing tokens', async (t) => {
  const { url, store, events, newToken } = await open()
  for (const [name, table, ask] of BACKGROUND) {
    const end = await holdOpen(t, url, `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    await t.rejects(async () => ask(store), { name: 'StoreUnavailable', message: /55P03/ }, name)
    await store.addToken(newToken())
    await end()
    await t.resolves(async () => ask(store), name)
  }
  t.strictSame(logged(events), [])
})

t.test('Background: the server ends slow statements, and tokens are issued', async (t) => {
  const { url, store, events, newToken } = await open()
  const view = 'CREATE VIEW backups AS SELECT 1::bigint AS made_at FROM pg_sleep(60)'
  await query(url, `ALTER TABLE backups RENAME TO slow; ${view}`)
  await t.rejects(store.measure(0), { name: 'StoreUnavailable', message: /57014/ })
  await store.addToken(newToken())
  await query(url, 'DROP VIEW backups; ALTER TABLE slow RENAME TO backups')
  t.ok((await store.measure(0)).size.database > 0)
  t.strictSame(logged(events), [])
})

/** Makes the database record the `synchronous_commit` of each transaction that changes these tables. */
const NOTE_COMMITS = `
  CREATE TABLE noted (how text);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO noted VALUES (current_setting('synchronous_commit'));
      RETURN NULL;
    END $$;
  CREATE TRIGGER note AFTER INSERT OR DELETE ON refusals EXECUTE FUNCTION note();
  CREATE TRIGGER note AFTER INSERT OR DELETE ON token_counts EXECUTE FUNCTION note();
  CREATE TRIGGER note AFTER DELETE ON tokens EXECUTE FUNCTION note()`

t.test('Background: refusals and purges wait for neither the disk nor a standby', async (t) => {
  const { url, store, newToken } = await open()
  await query(url, NOTE_COMMITS)
  await store.recordRefusals([refusal('x... (9 characters)', { isKnown: false, firstAt: 1, lastAt: 1 })])
  t.equal(await store.purge('refusals', 2, 10), 1)
  await store.purge('token counts', 1 * HOUR, 10)
  await store.addToken(newToken())
  t.equal(await store.purge('tokens', Date.now() + 1000, 10), 1)
  const [{ commits }] = await query(url, 'SELECT array_agg(DISTINCT how) AS commits FROM noted')
  t.strictSame(commits, ['off'])
})
