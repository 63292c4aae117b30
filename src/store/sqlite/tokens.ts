import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Observer } from '../../domain/events.ts'
import type { Tokens, Usage } from '../../domain/store.ts'
import type { StoredToken } from '../../domain/token.ts'
import type { ApplicationUse, SecretUse, TokenCount, TokenCountChange } from '../../domain/usage.ts'
import { createBatch } from '../batch.ts'
import type { Context } from './context.ts'
import * as sql from './statements/tokens.ts'

interface Options extends Context {
  /** The application that a token was issued to; undefined where it was removed. */
  applicationOf: (key: ApplicationKey) => Application | undefined
  observe: Observer
}

/** How many turns of the event loop a commit waits for more writes: it costs as much as dozens of them. */
const COMMIT_TURNS = 9

/** How many writes may wait for an answer: at 1 ms per fsync, 50 ms of work. */
const MAX_WRITES = 1024

/** One of the writes that are made in batches. */
type Write = { type: 'add'; token: StoredToken } | { type: 'revoke'; id: Buffer; at: number }

/** The tokens in SQLite: issued, looked up, revoked. */
export function createTokens({
  db,
  changes,
  reader,
  retryLocked,
  assertWritable,
  assertRoom,
  committed,
  applicationOf,
  observe,
}: Options): Tokens {
  const insertToken = db.prepare(sql.insertToken)
  const selectToken = db.prepare(sql.findToken)
  const revokeToken = db.prepare(sql.revokeToken)

  // The key is the id as text, for no two buffers are the same key; the hash is text too, which takes half the memory.
  const rowOf = changes.cached('tokens', (id: string) => {
    const row = selectToken.get(Buffer.from(id, 'latin1')) as TokenRow | undefined
    return row && { ...row, secret_hash: row.secret_hash.toString('latin1') }
  })

  /** Group commit (docs/adr/0002): the writes of a batch are one transaction, and are answered after one fsync. */
  const write = createBatch<Write, void>(
    async (take) => {
      const results = await retryLocked(() => {
        assertRoom()
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
    return writes.map(apply)
  }).immediate

  function apply(write: Write): void {
    if (write.type === 'add') {
      const { id, secretHash, applicationKey, generation, issuedAt } = write.token
      insertToken.run(id, secretHash, applicationKey, generation, issuedAt)
    } else if (revokeToken.run(write.at, write.id).changes > 0) {
      changes.invalidate('tokens')
    }
  }

  return {
    addToken: (token) => write({ type: 'add', token }),
    revokeToken: (id, at) => write({ type: 'revoke', id, at }),

    findToken: reader((id: Buffer) => {
      const row = rowOf(id.toString('latin1'))
      return row && { stored: toToken(id, row), application: applicationOf(row.application_id) }
    }),
  }
}

interface TokenRow {
  secret_hash: Buffer
  application_id: ApplicationKey
  generation: number
  issued_at: number
  revoked_at: number | null
}

function toToken(id: Buffer, row: Omit<TokenRow, 'secret_hash'> & { secret_hash: string }): StoredToken {
  return {
    id,
    secretHash: Buffer.from(row.secret_hash, 'latin1'),
    applicationKey: row.application_id,
    generation: row.generation,
    issuedAt: row.issued_at,
    revokedAt: row.revoked_at,
  }
}

/** What is known of use, in SQLite. It is not brought to the disk: the next change takes it there. */
export function createUsage({ db, read, write }: Context): Usage {
  const addTokenCount = db.prepare(sql.addTokenCount)
  const recordApplicationUse = db.prepare(sql.recordApplicationUse)
  const recordSecretUse = db.prepare(sql.recordSecretUse)
  const listTokenCounts = db.prepare(sql.listTokenCounts)
  const listApplicationUses = db.prepare(sql.listApplicationUses)
  const listSecretUses = db.prepare(sql.listSecretUses)

  const addAll = db.transaction((changes: readonly TokenCountChange[]) =>
    changes.map((change) => {
      if (change.lastTokenAt !== null) recordApplicationUse.run(change)
      return addTokenCount.get(change) as TokenCount
    }),
  ).immediate
  const recordAll = db.transaction((uses: readonly SecretUse[]) => {
    for (const one of uses) recordSecretUse.run(one)
  }).immediate

  return {
    addTokenCounts: (changes) => write(() => addAll(changes)),
    listTokenCounts: (keys, hours) =>
      read(() => listTokenCounts.all({ keys: JSON.stringify(keys), hours: JSON.stringify(hours) }) as TokenCount[]),
    listApplicationUses: (keys) => read(() => listApplicationUses.all(JSON.stringify(keys)) as ApplicationUse[]),
    recordSecretUses: (uses) => write(() => recordAll(uses)),
    listSecretUses: (ids) => read(() => listSecretUses.all(JSON.stringify(ids)) as SecretUse[]),
  }
}
