import type { Database } from 'better-sqlite3'
import type { Application } from '../../domain/application.ts'
import type { Store } from '../../domain/store.ts'
import type { StoredToken } from '../../domain/token.ts'
import { createGroupCommit } from '../batch.ts'
import type { Memory } from './cache.ts'
import type { Attempt } from './retry-locked.ts'
import * as sql from './statements.ts'

interface Options {
  db: Database
  memory: Memory
  attempt: Attempt
  sync: () => Promise<void>
  /** Throws where nothing may be written. */
  assertWhole: () => void
  applicationOf: (applicationId: number) => Application | undefined
}

/** The tokens in SQLite: issued, looked up, revoked, purged. */
export function createTokens({
  db,
  memory,
  attempt,
  sync,
  assertWhole,
  applicationOf,
}: Options): Pick<Store, 'addToken' | 'findToken' | 'revokeToken' | 'purgeTokens'> {
  const insertToken = db.prepare(sql.insertToken)
  const selectToken = db.prepare(sql.findToken)
  const revokeToken = db.prepare(sql.revokeToken)
  const purgeTokens = db.prepare(sql.purgeTokens)

  // By the id as text, for no two arrays are the same key; and the hash as text, which takes half the memory.
  const findRow = memory.hold('tokens', (id: string) => {
    const row = selectToken.get(Buffer.from(id, 'latin1')) as TokenRow | undefined
    return row && { ...row, secret_hash: row.secret_hash.toString('latin1') }
  })

  const writeAll = db.transaction((writes: () => (() => void)[]) => {
    assertWhole()
    for (const write of writes()) write()
  }).immediate
  const commit = createGroupCommit((writes) => attempt(() => writeAll(writes)), sync)

  return {
    addToken: (token) => commit(() => insertToken.run(token.id, token.secretHash, token.applicationId, token.issuedAt)),

    findToken: (id) =>
      attempt(() => {
        const row = findRow(id.toString('latin1'))
        return row && { stored: toToken(id, row), application: applicationOf(row.application_id) }
      }),

    revokeToken: (id, at) =>
      commit(() => {
        revokeToken.run(at, id)
        memory.forget('tokens')
      }),

    purgeTokens: (beforeId, limit) => attempt(() => purgeTokens.run(beforeId, limit).changes),
  }
}

interface TokenRow {
  secret_hash: Buffer
  application_id: number
  issued_at: number
  revoked_at: number | null
}

function toToken(id: Buffer, row: Omit<TokenRow, 'secret_hash'> & { secret_hash: string }): StoredToken {
  return {
    id,
    secretHash: Buffer.from(row.secret_hash, 'latin1'),
    applicationId: row.application_id,
    issuedAt: row.issued_at,
    revokedAt: row.revoked_at,
  }
}
