import type { ApplicationKey } from '../../domain/application.ts'
import type { Observer } from '../../domain/events.ts'
import type { RegistryState, Tokens } from '../../domain/store.ts'
import { mintToken, type StoredToken, TOKEN_LIFETIME } from '../../domain/token.ts'
import { createBatch } from '../batch.ts'
import { arrayOf } from './connection.ts'
import type { Primary } from './primary.ts'
import * as sql from './statements/tokens.ts'

/** How many turns of the event loop a round trip waits for more writes: it costs as much as dozens of them. */
const COMMIT_TURNS = 9

/** How many writes may wait for an answer. */
const MAX_WRITES = 4096

/** No row has this key. */
const NO_APPLICATION = 0 as unknown as ApplicationKey

/** `state` is that of the registry the request has seen; undefined if it has just read it. */
type Add = { type: 'add'; token: StoredToken; state?: RegistryState | undefined }
type Revoke = { type: 'revoke'; id: Buffer; at: number }

export function createTokenWrites(primary: Primary, observe: Observer) {
  /** Whether a write has failed since `assertWritable` last tried one: the disk may be full. */
  let hasFailed = false
  // A write is not repeated if its answer is lost: nobody has the new token, and clients repeat a revocation themselves.
  const { add: write, isBusy } = createBatch<Add | Revoke, boolean>(
    async (take) => {
      const session = await primary.session()
      /** Resolves to true if anything was written. */
      const send = async (statement: string, size: number, values: unknown[]) => {
        const begin = performance.now()
        const { rowCount } = await session.write(statement, values).catch((error) => {
          hasFailed = true
          throw error
        })
        observe({ type: 'batch written', size, seconds: (performance.now() - begin) / 1000 })
        return rowCount !== 0
      }
      const insert = async (adds: readonly Add[], version?: number) =>
        adds.length > 0 &&
        send(sql.insertTokens, adds.length, [...insertValues(adds), version ?? null, audiencesOf(adds)])
      const writes = take()
      const state = session.cache.state()
      const revocations = writes.filter((write) => write.type === 'revoke')
      const adds = writes.filter((write) => write.type === 'add')
      await insert(adds.filter((add) => add.state === undefined))
      const recalled = adds.filter((add) => add.state !== undefined && add.state === state)
      const isCurrent = await insert(recalled, state?.version)
      if (revocations.length > 0) await send(sql.revokeTokensById, revocations.length, revocationValues(revocations))
      return writes.map(
        (write) => write.type === 'revoke' || write.state === undefined || (isCurrent && write.state === state),
      )
    },
    { maxTurns: COMMIT_TURNS, maxItems: MAX_WRITES },
  )

  return {
    isBusy,
    addToken: (token, state) => write({ type: 'add', token, state }),
    async revokeToken(id, at) {
      await write({ type: 'revoke', id, at })
    },

    /** After a failed write, here or in another process (`isDoubted`), rejects with StoreUnavailable if a test write also fails. */
    async assertWritable(isDoubted: boolean): Promise<void> {
      hasFailed ||= isDoubted
      if (!hasFailed) return
      const token = mintToken(NO_APPLICATION, Math.max(Date.now() - TOKEN_LIFETIME, 0)).stored
      await write({ type: 'add', token }, { isUrgent: true })
      hasFailed = false
    },
  } satisfies Omit<Tokens, 'findToken'> & { assertWritable(isDoubted: boolean): Promise<void> }
}

function insertValues(adds: readonly Add[]): string[] {
  return [
    arrayOf(adds.map(({ token }) => token.id.toString('hex'))),
    arrayOf(adds.map(({ token }) => token.secretHash.toString('hex'))),
    arrayOf(adds.map(({ token }) => token.applicationKey)),
    arrayOf(adds.map(({ token }) => token.generation)),
    arrayOf(adds.map(({ token }) => token.issuedAt)),
  ]
}

/** Null if no token has one, as usual: PostgreSQL fills up the shorter array with nulls. */
function audiencesOf(adds: readonly Add[]): (string | null)[] | null {
  return adds.some(({ token }) => token.audience !== null) ? adds.map(({ token }) => token.audience) : null
}

/** The parameters for revocations. Each token occurs once; the first of two revocations counts. */
function revocationValues(revocations: readonly Revoke[]): string[] {
  const times = new Map(revocations.toReversed().map(({ id, at }) => [id.toString('hex'), at]))
  return [arrayOf([...times.keys()]), arrayOf([...times.values()])]
}
