import type { ApplicationKey } from '../../domain/application.ts'
import type { Observer } from '../../domain/events.ts'
import type { Tokens, Usage } from '../../domain/store.ts'
import type { StoredToken } from '../../domain/token.ts'
import type { TokenCount } from '../../domain/usage.ts'
import { createBatch } from '../batch.ts'
import type { Commands } from './commands.ts'
import { arrayOf } from './connection.ts'
import type { Primary } from './primary.ts'
import type { Reads } from './reads.ts'
import * as sql from './statements/tokens.ts'

/** How many turns of the event loop a round trip waits for more writes: it costs as much as dozens of them. */
const COMMIT_TURNS = 9

/** How many writes may wait for an answer. */
const MAX_WRITES = 4096

interface TokensOptions {
  primary: Primary
  reads: Reads
  observe: Observer
}

/** One of the writes that are made in batches. */
type Write = { type: 'add'; token: StoredToken } | { type: 'revoke'; id: Buffer; at: number }

/** The tokens in PostgreSQL: issued, looked up, revoked. */
export function createTokens({ primary, reads, observe }: TokensOptions): Tokens {
  // Not tried again where the answer was lost: nobody has the token, so it does not matter whether it was written; and a
  // revocation is asked for again.
  const write = createBatch<Write, void>(
    async (take) => {
      const session = await primary.session()
      const send = async (statement: string, size: number, values: string[]) => {
        const begin = performance.now()
        await session.write(statement, values)
        observe({ type: 'batch written', size, seconds: (performance.now() - begin) / 1000 })
      }
      const writes = take()
      const tokens = writes.flatMap((write) => (write.type === 'add' ? [write.token] : []))
      const revocations = writes.filter((write) => write.type === 'revoke')
      if (tokens.length > 0) await send(sql.insertTokens, tokens.length, insertValues(tokens))
      if (revocations.length > 0) await send(sql.revokeTokensById, revocations.length, revocationValues(revocations))
      return writes.map(() => undefined)
    },
    { maxTurns: COMMIT_TURNS, maxItems: MAX_WRITES },
  )

  return {
    addToken: (token) => write({ type: 'add', token }),
    revokeToken: (id, at) => write({ type: 'revoke', id, at }),
    findToken: reads.token,
  }
}

function insertValues(tokens: readonly StoredToken[]): string[] {
  return [
    arrayOf(tokens.map(({ id }) => id.toString('hex'))),
    arrayOf(tokens.map(({ secretHash }) => secretHash.toString('hex'))),
    arrayOf(tokens.map(({ applicationKey }) => applicationKey)),
    arrayOf(tokens.map(({ generation }) => generation)),
    arrayOf(tokens.map(({ issuedAt }) => issuedAt)),
  ]
}

/** Each token once: of two revocations the first one counts. */
function revocationValues(revocations: readonly { id: Buffer; at: number }[]): string[] {
  const times = new Map(revocations.toReversed().map(({ id, at }) => [id.toString('hex'), at]))
  return [arrayOf([...times.keys()]), arrayOf([...times.values()])]
}

type CountRow = [applicationKey: ApplicationKey, hour: number, issued: number, refused: number]

/** What is known of use, in PostgreSQL. */
export function createUsage({ ask, inTransaction }: Commands): Usage {
  return {
    async addTokenCounts(changes) {
      const keys = arrayOf(changes.map(({ applicationKey }) => applicationKey))
      const rows = await inTransaction(async (ask) => {
        await ask(sql.recordApplicationUses, [keys, arrayOf(changes.map(({ lastTokenAt }) => lastTokenAt))])
        return ask<CountRow>(sql.addTokenCounts, [
          arrayOf(changes.map(({ hour }) => hour)),
          keys,
          arrayOf(changes.map(({ issued }) => issued)),
          arrayOf(changes.map(({ refused }) => refused)),
        ])
      })
      const sums = new Map(rows.map(toCount).map((sum) => [nameOf(sum), sum]))
      return changes.map((change) => sums.get(nameOf(change)) as TokenCount)
    },

    listTokenCounts: async (keys, hours) =>
      (await ask<CountRow>(sql.listTokenCounts, [arrayOf(keys), arrayOf(hours)])).map(toCount),

    async listApplicationUses(keys) {
      const rows = await ask<[ApplicationKey, number]>(sql.listApplicationUses, [arrayOf(keys)])
      return rows.map(([applicationKey, lastTokenAt]) => ({ applicationKey, lastTokenAt }))
    },

    async recordSecretUses(uses) {
      const secretIds = arrayOf(uses.map(({ secretId }) => secretId))
      const times = arrayOf(uses.map(({ lastUsedAt }) => lastUsedAt))
      await inTransaction((ask) => ask(sql.recordSecretUses, [secretIds, times]))
    },

    async listSecretUses(secretIds) {
      const rows = await ask<[secretId: number, lastUsedAt: number]>(sql.listSecretUses, [arrayOf(secretIds)])
      return rows.map(([secretId, lastUsedAt]) => ({ secretId, lastUsedAt }))
    },
  }
}

function nameOf({ hour, applicationKey }: Pick<TokenCount, 'hour' | 'applicationKey'>): string {
  return `${hour} ${applicationKey}`
}

function toCount([applicationKey, hour, issued, refused]: CountRow): TokenCount {
  return { applicationKey, hour, issued, refused }
}
