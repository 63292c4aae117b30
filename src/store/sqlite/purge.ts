import type { Statement } from 'better-sqlite3'
import type { Store } from '../../domain/store.ts'
import { firstTokenIdAt } from '../../domain/token.ts'
import { hourOf } from '../../domain/usage.ts'
import { OLD_ROWS, type OldRows } from '../shared/statements/purge.ts'
import type { Context } from './context.ts'

// Deletes a range, which SQLite does in one pass.
const purgeTokens = `
  DELETE FROM tokens
   WHERE id < coalesce((SELECT id FROM tokens WHERE id < $1 ORDER BY id LIMIT 1 OFFSET $2), $1)`

export const purgeRows = ([table, key, old]: OldRows) =>
  `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${old} LIMIT $2)`

/** Purges are not flushed to disk: the next change does that. */
export function createPurge({ db, write }: Context): Store['purge'] {
  const prepare = (texts: string[]) => texts.map((text) => db.prepare(text))
  const prepared = new Map(Object.entries(OLD_ROWS).map(([what, rows]) => [what, prepare(rows.map(purgeRows))]))
  prepared.set('tokens', prepare([purgeTokens]))

  return (what, before, limit) => {
    const from = what === 'tokens' ? firstTokenIdAt(before) : what === 'token counts' ? hourOf(before) : before
    const statements = prepared.get(what) as Statement[]
    return write(() => statements.reduce((count, one) => count + one.run({ 1: from, 2: limit }).changes, 0))
  }
}
