import type { Observer } from '../../domain/events.ts'
import type { Tokens } from '../../domain/store.ts'
import type { StoredToken } from '../../domain/token.ts'
import { createBatch } from '../batch.ts'
import type { Primary } from './primary.ts'
import type { Reads } from './reads.ts'
import * as sql from './statements/tokens.ts'
import { arrayOf } from './values.ts'

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
