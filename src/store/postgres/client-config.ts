import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Writable } from 'node:stream'
import pgpass from 'pgpass'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'

/**
 * The password for a server, read again for every connection, for it may have changed: from DATABASE_PASSWORD_FILE, the URL
 * or PGPASSWORD, or PGPASSFILE. Undefined: there is none. Rejects with OperatorError where a file cannot be used.
 */
export async function passwordFor(
  { passwordFile, password, database, user }: PostgresLocation,
  { host, port }: PostgresHost,
): Promise<string | undefined> {
  if (passwordFile !== undefined) return readPassword(passwordFile)
  if (password !== undefined) return password
  const found = last.then(() => findPassword({ host, port, database, user }))
  last = found.catch(() => {})
  return found
}

/** One after the other: there is one place for the warnings of all. */
let last: Promise<unknown> = Promise.resolve()

async function findPassword(server: Parameters<typeof pgpass>[0]): Promise<string | undefined> {
  const warnings: string[] = []
  // Its words would go to standard error, where the log is.
  pgpass.warnTo(
    new Writable({
      write(text, _, done) {
        warnings.push(String(text))
        done()
      },
    }),
  )
  const found = await new Promise<string | undefined>((done) => pgpass(server, done))
  if (warnings.length > 0) throw new OperatorError(`PGPASSFILE is not used: ${warnings.join(' ').trim()}.`)
  return found
}

async function readPassword(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new OperatorError(`DATABASE_PASSWORD_FILE, ${resolve(file)}, cannot be read: ${cause.code}.`)
  })
  return text.replace(/\r?\n$/, '')
}
