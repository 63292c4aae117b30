import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Observer } from '../../domain/events.ts'
import type { Tokens } from '../../domain/store.ts'
import type { StoredToken } from '../../domain/token.ts'
import { createBatch } from '../batch.ts'
import type { Context } from './context.ts'
import * as sql from './statements/tokens.ts'

/** How many turns of the event loop a commit waits for more writes: it costs as much as dozens of them. */
const COMMIT_TURNS = 9

/** How many writes may be unanswered. With 1 ms per fsync, they take 50 ms. */
const MAX_WRITES = 1024

/** The tokens per INSERT, highest number first: an INSERT costs more than a token. */
const INSERT_SIZES = [32, 8, 1]

type Add = { type: 'add'; token: StoredToken }
type Write = Add | { type: 'revoke'; id: Buffer; at: number }

/** `applicationOf` returns undefined for an application that was removed. */
export function createTokens(
  { db, changes, reader, retryLocked, assertWritable, assertLogNotFull, committed }: Context,
  applicationOf: (key: ApplicationKey) => Application | undefined,
  observe: Observer,
): Tokens {
  const inserts = INSERT_SIZES.map((size) => ({ size, insert: db.prepare(sql.insertTokens(size)) }))
  const selectToken = db.prepare(sql.findToken)
  const revokeToken = db.prepare(sql.revokeToken)

  // The key is the id as text, because two buffers are never the same key. The hash is text, which takes half the memory.
  const rowOf = changes.cached('tokens', (id: string) => {
    const row = selectToken.get(Buffer.from(id, 'latin1')) as Omit<StoredToken, 'id'> | undefined
    return row && { ...row, secretHash: row.secretHash.toString('latin1') }
  })

  /** Group commit (docs/adr/0002): the writes of a batch are one transaction, and are answered after one fsync. */
  const { add: write, isBusy } = createBatch<Write, boolean>(
    async (take) => {
      const results = await retryLocked(() => {
        assertLogNotFull()
        const writes = take()
        const begin = performance.now()
        const results = writeAll(writes)
        observe({ type: 'batch written', size: writes.length, seconds: (performance.now() - begin) / 1000 })
        return results
      })
      await committed()
      return results
    },
    { maxTurns: COMMIT_TURNS, maxItems: MAX_WRITES },
  )

  const writeAll = db.transaction((writes: Write[]) => {
    assertWritable()
    insertAll(writes.filter((write) => write.type === 'add'))
    for (const write of writes) {
      if (write.type === 'revoke' && revokeToken.run(write.at, write.id).changes > 0) changes.invalidate('tokens')
    }
    return writes.map(() => true)
  }).immediate

  function insertAll(adds: readonly Add[]): void {
    let next = 0
    for (const { size, insert } of inserts) {
      for (; next + size <= adds.length; next += size) insert.run(adds.slice(next, next + size).flatMap(valuesOf))
    }
  }

  return {
    isBusy,
    addToken: (token) => write({ type: 'add', token }),
    async revokeToken(id, at) {
      await write({ type: 'revoke', id, at })
    },

    findToken: reader((id: Buffer) => {
      const row = rowOf(id.toString('latin1'))
      if (!row) return undefined
      const { secretHash, applicationKey, generation, audience, issuedAt, revokedAt } = row
      const hash = Buffer.from(secretHash, 'latin1')
      const stored = { id, secretHash: hash, applicationKey, generation, audience, issuedAt, revokedAt }
      return { stored, application: applicationOf(applicationKey) }
    }),
  }
}

function valuesOf({ token }: Add) {
  return [token.id, token.secretHash, token.applicationKey, token.generation, token.issuedAt, token.audience]
}
