import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Test } from 'tap'

/** Runs a statement on a connection of its own, and resolves to its rows. */
// biome-ignore lint/suspicious/noExplicitAny: the rows of any statement
export async function query(url: string, text: string, values: unknown[] = []): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Sends statements in a transaction that stays open until the function it resolves to is called, which undoes them. */
export async function holdOpen(t: Test, url: string, statements: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`BEGIN; ${statements}`)
  return async () => void (await client.query('ROLLBACK'))
}

/** An empty database that belongs to a role without other rights, which logs in by a password, and how to remove both. */
export async function createDatabase(superuserUrl: string) {
  const name = `token_server_${randomBytes(6).toString('hex')}`
  const password = randomUUID()
  await query(superuserUrl, `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`)
  await query(superuserUrl, `CREATE DATABASE ${name} OWNER ${name}`)
  const url = new URL(superuserUrl)
  url.username = name
  url.password = password
  url.pathname = name
  return {
    url: url.href,
    async remove() {
      await query(superuserUrl, `DROP DATABASE ${name} WITH (FORCE)`)
      await query(superuserUrl, `DROP ROLE ${name}`)
    },
  }
}
