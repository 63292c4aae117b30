import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Test } from 'tap'
import { openStore } from '../../../src/store/open.ts'
import { schemaHash } from '../migrations.ts'
import { locationOf } from './location.ts'

/** Runs a statement on a connection of its own, and resolves to its rows. */
// biome-ignore lint/suspicious/noExplicitAny: the rows of any statement
export async function query(url: string, text: string, values: unknown[] = []): Promise<any[]> {
  return connected(url, async (client) => (await client.query(text, values)).rows)
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

async function connected<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await connect(url)
  return work(client).finally(() => client.end())
}

/** A connection until the test ends. */
export async function keepClient(t: Test, url: string): Promise<pg.Client> {
  const client = await connect(url)
  t.teardown(() => client.end())
  return client
}

/** Sends statements in a transaction that stays open until the function it resolves to is called, which undoes them. */
export async function holdOpen(t: Test, url: string, statements: string): Promise<() => Promise<void>> {
  const client = await keepClient(t, url)
  await client.query(`BEGIN; ${statements}`)
  return async () => void (await client.query('ROLLBACK'))
}

/** A database of a role of its own, which logs in by a password: empty, or a copy of `template`, whose role owns its tables. */
export async function createDatabase(superuserUrl: string, template?: string): Promise<string> {
  const name = `token_server_${randomBytes(6).toString('hex')}`
  const password = randomUUID()
  const [inRole, copied] = template ? [`IN ROLE ${template}`, `TEMPLATE ${template} STRATEGY FILE_COPY`] : ['', '']
  await connected(superuserUrl, async (client) => {
    await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}' ${inRole}`)
    await client.query(`CREATE DATABASE ${name} OWNER ${name} ${copied}`)
  })
  return Object.assign(new URL(superuserUrl), { pathname: name, username: name, password }).href
}

/** Deletes all rows of a migrated database: quicker than a new one. */
export const DELETE_ALL = `
  DO $$
  DECLARE name text;
  BEGIN
    FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename NOT IN ('migrations', 'compatibility', 'changes')
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
  END $$`

/** The name of a migrated database without rows. The first process that asks makes it. */
export async function findTemplate(superuserUrl: string): Promise<string> {
  const name = `token_server_template_${schemaHash('postgres')}`
  await connected(superuserUrl, async (client) => {
    await client.query("SELECT pg_advisory_lock(hashtext('token server template'))")
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount) return
    const password = randomUUID()
    await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`)
    await client.query(`CREATE DATABASE ${name}_new OWNER ${name}`)
    const url = Object.assign(new URL(superuserUrl), { pathname: `${name}_new`, username: name, password })
    const store = await openStore(locationOf(url.href), { lockTimeout: 30_000 })
    await store.close()
    // Complete from now on.
    await client.query(`ALTER DATABASE ${name}_new RENAME TO ${name}`)
  })
  return name
}
