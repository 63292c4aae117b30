import type { Usage } from '../../domain/store.ts'
import type { ApplicationUse, SecretUse, TokenCount, TokenCountChange } from '../../domain/usage.ts'
import type { Context } from './context.ts'
import * as sql from './statements/tokens.ts'

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
