import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PostgresLocation } from '../domain/database-location.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

/** Where the password for PostgreSQL comes from, and who may see it there. */
export async function examinePassword({ passwordFile, password }: PostgresLocation): Promise<Finding[]> {
  if (passwordFile === undefined) {
    const origin = password === undefined ? 'PGPASSFILE, or nowhere' : 'DATABASE_URL or PGPASSWORD'
    return [ok(`The password of the database comes from ${origin}.`)]
  }
  const path = resolve(passwordFile)
  try {
    const { mode } = await stat(path)
    const isEmpty = (await readFile(path, 'utf8')).trim() === ''
    return [isEmpty ? error(`DATABASE_PASSWORD_FILE, ${path}, is empty.`) : judgeMode(path, mode & 0o777)]
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    return [
      error(`DATABASE_PASSWORD_FILE, ${path}, cannot be read: ${code}.`, "It must be there for the server's user."),
    ]
  }
}

function judgeMode(path: string, mode: number): Finding {
  const who = `DATABASE_PASSWORD_FILE, ${path}, (mode ${mode.toString(8)})`
  if (mode & 0o022) return warning(`${who} may be changed by others.`, `chmod go-w ${path}`)
  // As a container's secrets are, which only its own users see.
  if (mode & 0o044)
    return note(`${who} may be read by other users of this machine.`, `Where there are any: chmod go= ${path}`)
  return ok(`${who} is its owner's alone.`)
}
