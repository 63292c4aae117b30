import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { ReceiverFiles } from '../administration/notice-receiver.ts'
import type { PostgresLocation } from '../domain/database-location.ts'
import { type Issuer, isNeeded, KEPT_MS } from '../domain/federation.ts'
import type { ProviderSettings } from '../domain/identity.ts'
import type { Undelivered } from '../domain/notice.ts'
import { many, withPeriod } from '../domain/text.ts'
import { DAY } from '../domain/usage.ts'
import type { OperatorKeys } from '../store/inspect.ts'
import { error, type Finding, note, ok, restriction, SOON_MS, timeText, warning } from './finding.ts'

export const OTHERS_WRITE = 0o022
/** In a sticky folder, only the owner of a file can remove it. */
const STICKY = 0o1000

/** Checks the folder of the admin socket: users who can write to it can replace the socket with their own. */
export async function checkSocketFolder(socket: string): Promise<Finding[]> {
  const folder = dirname(socket)
  const found = await stat(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
  })
  if (!found) {
    const advice = 'systemd makes it when it starts a service with RuntimeDirectory; else create it.'
    return [error(`The folder of ADMIN_ADDRESS, ${folder}, does not exist.`, advice)]
  }
  const mode = found.mode & 0o7777
  if ((mode & OTHERS_WRITE) === 0 || mode & STICKY) return [ok(`The folder of ADMIN_ADDRESS is ${folder}.`)]
  const text = `Other users may write to ${folder} (mode ${mode.toString(8)}), so they can replace the server's socket.`
  return [warning(text, restriction('go-w', folder, found.uid))]
}

/** Checks that there are operators, and that their keys do not expire soon. With `onlyProvider`, no person should have a key. */
export function checkOperators(operators: OperatorKeys[], now: number, onlyProvider = false): Finding[] {
  if (operators.length === 0) {
    const advice =
      '"operators add NAME --role admin" adds one; so does a sign-in with the identity provider, if there is one.'
    return [note('There is no operator who can use ADMIN_ADDRESS.', advice)]
  }
  // Only the key that expires last counts: it has replaced the others.
  const findings = operators.flatMap(({ name, lastKeyEndsAt }) => {
    if (lastKeyEndsAt === null || lastKeyEndsAt > now + SOON_MS) return []
    const verb = lastKeyEndsAt > now ? 'expires' : 'expired'
    const text = `The last admin key of the operator ${name} ${verb} at ${timeText(lastKeyEndsAt)}.`
    return [warning(text, `"operators key ${name} --expires 90d" makes another one.`)]
  })
  const programs = operators.flatMap(({ name, lastKeyEndsAt }) => (Number(lastKeyEndsAt) > now ? name : []))
  const text = `OPERATORS is provider, but these operators have admin keys, which stay valid: ${programs.join(', ')}.`
  const keys =
    onlyProvider && programs.length > 0 ? [note(text, 'Remove those of people: "operators remove NAME".')] : []
  return [...keys, ...(findings.length > 0 ? findings : [ok('No admin key expires within a week.')])]
}

/** Explains for a week the last sign-in with the identity provider that gave no role. */
export function checkRefusedSignIn(last: { at: number; why: string } | undefined, now: number): Finding[] {
  if (!last || last.at < now - 7 * DAY) return []
  const text = `The identity provider knows the person who signed in at ${timeText(last.at)}, but no claim gives a role: ${last.why}.`
  return [note(text, 'Compare OIDC_ADMINS and OIDC_VIEWERS with what the provider sends.')]
}

/** Checks whether the identity provider answers, with the issuer that the settings name, and the file of the client secret. */
export async function checkProvider(settings: ProviderSettings): Promise<Finding[]> {
  const { issuer, secretFile, callbackUrl } = settings
  const { discover } = await import('../administration/identity-provider.ts')
  const wrong = `The identity provider ${issuer} does not answer as expected:`
  const found = await discover(settings).then(
    () => ok(`The identity provider ${issuer} answers. Its callback URL for this server is ${callbackUrl}.`),
    ({ message }) =>
      error(`${wrong} ${withPeriod(message)}`, 'Check OIDC_ISSUER: its metadata must name exactly this issuer.'),
  )
  return [found, await checkSecretFile('OIDC_CLIENT_SECRET_FILE', secretFile)]
}

/** Checks the files for notices: what is in them, and who may read them. */
export async function checkNoticeFiles(files: ReceiverFiles): Promise<Finding[]> {
  const { readReceiver } = await import('../administration/notice-receiver.ts')
  const { urlFile, secretFile } = files
  const findings = [await checkSecretFile('NOTICE_URL_FILE', urlFile)]
  if (secretFile !== undefined) findings.push(await checkSecretFile('NOTICE_SECRET_FILE', secretFile))
  if (findings.some(({ level }) => level === 'error')) return findings
  const read = readReceiver(files).then(
    ({ url }) => ok(`Notices go to ${url.host}.`),
    ({ message }) => error(message, 'Notices wait until this is corrected.'),
  )
  return [await read, ...findings]
}

/** Checks the key that signs audit heads: what it is, and who may read it. */
export async function checkAuditKey(file: string): Promise<Finding[]> {
  const { readAuditKey } = await import('../administration/audit-chain.ts')
  const found = await checkSecretFile('AUDIT_KEY_FILE', file)
  if (found.level === 'error') return [found]
  const read = readAuditKey(file).then(
    () => ok('AUDIT_KEY_FILE has an Ed25519 key.'),
    ({ message }) => error(message, 'The server does not start until this is corrected.'),
  )
  return [await read, found]
}

/** Checks whether notices wait, and says why. */
export function checkUndelivered(undelivered: Undelivered | undefined): Finding[] {
  if (!undelivered) return [ok('No notice waits to be delivered.')]
  const { at, attempts, problem, count } = undelivered
  const text = `${many(count, 'notice')} for NOTICE_URL_FILE cannot be delivered, the oldest of ${timeText(at)}`
  if (problem === null) return [note(`${many(count, 'notice')} for NOTICE_URL_FILE will be delivered soon.`)]
  const advice = 'They are tried again. "token-server notices test" posts one at once.'
  return [warning(`${text}, after ${many(attempts, 'attempt')}: ${withPeriod(problem)}`, advice)]
}

/** Checks whether the keys of the issuers of federated credentials could be fetched. */
export function checkIssuers(issuers: readonly Issuer[], now: number): Finding[] {
  return issuers.flatMap(({ issuer, problem, fetchedAt, triedAt }) => {
    if (problem === null || !isNeeded({ triedAt }, now)) return []
    const text = `The keys of the issuer ${issuer} could not be fetched: ${withPeriod(problem)}`
    const advice = 'They are fetched again when a JWT of it is presented.'
    if (fetchedAt === null || now - fetchedAt >= KEPT_MS)
      return [error(`${text} None of its JWTs is accepted.`, advice)]
    return [warning(`${text} Those of ${timeText(fetchedAt)} are used until ${timeText(fetchedAt + KEPT_MS)}.`, advice)]
  })
}

/** Checks where the password for PostgreSQL comes from, and the permissions of its file. */
export async function checkPassword({ passwordFile, password }: PostgresLocation): Promise<Finding[]> {
  if (passwordFile === undefined) {
    const origin = password === undefined ? 'PGPASSFILE, if there is one' : 'DATABASE_URL or PGPASSWORD'
    return [ok(`The password of the database comes from ${origin}.`)]
  }
  return [await checkSecretFile('DATABASE_PASSWORD_FILE', passwordFile)]
}

/** Checks whether the file of a setting can be read, has content, and is private. */
export async function checkSecretFile(setting: string, file: string): Promise<Finding> {
  const path = resolve(file)
  try {
    const { mode, uid } = await stat(path)
    const isEmpty = (await readFile(path, 'utf8')).trim() === ''
    return isEmpty ? error(`${setting}, ${path}, is empty.`) : modeFinding(setting, path, mode & 0o777, uid)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    return error(`${setting}, ${path}, cannot be read: ${code}.`, "The server's user must be able to read it.")
  }
}

function modeFinding(setting: string, path: string, mode: number, uid: number): Finding {
  const file = `${setting}, ${path} (mode ${mode.toString(8)}),`
  if (mode & OTHERS_WRITE) return warning(`${file} can be changed by other users.`, restriction('go-w', path, uid))
  // Only a note: in a container, secrets have this mode, but there are no other users.
  const advice = `If it has other users: ${restriction('go=', path, uid)}`
  if (mode & 0o044) return note(`${file} can be read by other users of this machine.`, advice)
  return ok(`${file} is private.`)
}
