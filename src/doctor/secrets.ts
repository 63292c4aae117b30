import { NOT_SHOWN_YET } from '../domain/secret.ts'
import type { Inspector, SecretOwner } from '../store/inspect.ts'
import { type Finding, ok, warning } from './finding.ts'
import { timeText } from './words.ts'

const SOON_MS = 7 * 24 * 60 * 60_000

/** So many are named. */
const NAMED = 10

/** Who is without a secret, or will be in a week. */
export async function examineSecrets(inspector: Inspector, now: number): Promise<Finding[]> {
  const owners = await inspector.ownersWithoutSecret(now + SOON_MS)
  if (owners.length === 0)
    return [ok('Every application and every suite has a secret that is active for a week and more.')]
  // Those that can still be helped in time come first.
  const [ending, ended] = [
    owners.filter((owner) => isActive(owner, now)),
    owners.filter((owner) => !isActive(owner, now)),
  ]
  const all = [...ending, ...ended]
  const more = all.length - NAMED
  return [
    ...all.slice(0, NAMED).map((owner) => judge(owner, now)),
    ...(more > 0 ? [warning(`There are ${more} more whose secrets have ended or end within a week.`)] : []),
  ]
}

function isActive({ endsAt }: SecretOwner, now: number): boolean {
  return endsAt !== null && endsAt > now
}

function judge(owner: SecretOwner, now: number): Finding {
  const { kind, id, name, endsAt } = owner
  const who = `The ${kind} ${name} (${id})`
  const rotate = `secrets rotate ${id}`
  if (isActive(owner, now)) {
    return warning(
      `${who} has no secret after ${timeText(endsAt as number)}.`,
      `"${rotate}" makes one; then it has to be told.`,
    )
  }
  const consequence = kind === 'suite' ? 'cannot introspect' : 'gets no tokens'
  if (endsAt === null || endsAt === NOT_SHOWN_YET) {
    return warning(`${who} has no secret that was ever valid, and ${consequence}.`, `"${rotate}", or seed again.`)
  }
  const advice = kind === 'suite' ? `"${rotate}" makes one.` : `"${rotate}" makes one; or suspend or remove it.`
  return warning(`${who} has no secret since ${timeText(endsAt)}, and ${consequence}.`, advice)
}
