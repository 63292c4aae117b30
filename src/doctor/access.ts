import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { PostgresLocation } from '../domain/database-location.ts'
import type { OperatorKeys } from '../store/inspect.ts'
import { error, type Finding, note, ok, SOON_MS, timeText, warning } from './finding.ts'

const OTHERS_WRITE = 0o022
/** In a sticky folder, only the owner of a file can remove it. */
const STICKY = 0o1000

/** Checks the folder of the admin socket: anyone who can write to it can replace the socket by their own. */
export async function examineSocketFolder(socket: string): Promise<Finding[]> {
  const folder = dirname(socket)
  const found = await stat(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
  })
  if (!found) return [error(`The folder of ADMIN_ADDRESS, ${folder}, does not exist.`, 'The server does not make it.')]
  const mode = found.mode & 0o7777
  if ((mode & OTHERS_WRITE) === 0 || mode & STICKY) return [ok(`The folder of ADMIN_ADDRESS is ${folder}.`)]
  const text = `Others may write to ${folder} (mode ${mode.toString(8)}), and so put another socket in the place of this server's.`
  return [warning(text, `chmod go-w ${folder}`)]
}

/** Checks that there are operators, and that their admin keys do not end soon. */
export function examineOperators(operators: OperatorKeys[], now: number): Finding[] {
  if (operators.length === 0) {
    return [note('There is no operator who could use ADMIN_ADDRESS.', '"operators add NAME --role admin" adds one.')]
  }
  const findings = operators.map((operator) => judgeKey(operator, now)).filter((finding) => finding !== undefined)
  return findings.length > 0 ? findings : [ok('No admin key ends within a week.')]
}

/** Looks only at the key that ends last: the others have been replaced by it. */
function judgeKey({ name, lastKeyEndsAt }: OperatorKeys, now: number): Finding | undefined {
  if (lastKeyEndsAt === null || lastKeyEndsAt > now + SOON_MS) return undefined
  const advice = `"operators key ${name} --expires 90d" makes another one.`
  const time = timeText(lastKeyEndsAt)
  if (lastKeyEndsAt > now) return warning(`The last admin key of the operator ${name} ends at ${time}.`, advice)
  return warning(`The operator ${name} has no admin key since ${time}.`, advice)
}

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
