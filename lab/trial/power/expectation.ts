import type { Credentials } from '../../bench/world/checkout.ts'
import type { Entry } from '../world/ledger.ts'

/** A command that ended with status 0, and when it began and ended. Nanoseconds of the monotonic clock. */
export interface Command {
  kind: 'register' | 'revoke-all' | 'suspend'
  application: Credentials
  beganAt: bigint
  endedAt: bigint
}

/** What the database must contain after a power cut. */
export interface Expectation {
  valid: string[]
  invalid: string[]
  applications: string[]
}

/** All that was acknowledged to clients and operators before a moment. What was under way then may have either result. */
export function expectedAt(time: bigint, ledger: Entry[], commands: Command[]): Expectation {
  const done = commands.filter(({ endedAt }) => endedAt < time)
  const begun = commands.filter(({ beganAt }) => beganAt < time)
  const issued = ledger.filter(({ issuedAt }) => issuedAt < time)
  const ends = (command: Command, { application, issuedAt }: Entry, before: bigint) =>
    command.application.client_id === application.client_id &&
    (command.kind === 'suspend' || (command.kind === 'revoke-all' && issuedAt < before))
  return {
    valid: issued
      .filter(({ revokeSentAt }) => revokeSentAt === undefined || revokeSentAt >= time)
      .filter((entry) => !begun.some((command) => ends(command, entry, command.endedAt)))
      .map(({ token }) => token),
    invalid: issued
      .filter(
        (entry) =>
          (entry.revokedAt !== undefined && entry.revokedAt < time) ||
          done.some((command) => ends(command, entry, command.beganAt)),
      )
      .map(({ token }) => token),
    applications: done.filter(({ kind }) => kind === 'register').map(({ application }) => application.client_id),
  }
}
