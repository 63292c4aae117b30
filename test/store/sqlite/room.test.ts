import { join } from 'node:path'
import t from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import { createAuditedChange } from '../../../src/store/sqlite/audit.ts'
import { createChangeDetector, createReader } from '../../../src/store/sqlite/changes.ts'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { type Context, createAccess, createChange } from '../../../src/store/sqlite/context.ts'
import { createRegistry } from '../../../src/store/sqlite/registry.ts'
import { createRetryLocked } from '../../../src/store/sqlite/retry-locked.ts'
import { createTokens } from '../../../src/store/sqlite/tokens.ts'
import { createUsage } from '../../../src/store/sqlite/usage.ts'
import { AUDIT } from '../../support/audit.ts'
import { keyOf } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'

t.test('Full log: whether there is room again is looked at outside of a transaction, before every write', async (t) => {
  const db = openDatabase(join(temporaryFolder(t), 'store.db'), (db) => db)
  t.teardown(() => db.close())
  const changes = createChangeDetector(db, { assertUsable() {} })
  const retryLocked = createRetryLocked('a.db', 0, { onError() {}, distrust() {} })
  const looks: boolean[] = []
  const rules = { assertWritable() {}, assertRoom: () => void looks.push(db.inTransaction) }
  const context: Context = {
    db,
    changes,
    reader: createReader(changes, retryLocked),
    retryLocked,
    ...rules,
    ...createAccess({ retryLocked, ...rules, assertUsable() {}, countCommit() {} }),
    async committed() {},
  }
  const change = createChange(context)
  const audited = createAuditedChange(context, change)
  const { registry, applicationOf } = createRegistry({ ...context, change, audited, assertNotMoved() {} })
  const tokens = createTokens({ ...context, applicationOf, observe() {} })
  const usage = createUsage(context)
  const token = mintToken(keyOf(1), START).stored
  await tokens.addToken(token)
  await tokens.purgeTokens(token.id, 1)
  await registry.setStatus('a', 'active', AUDIT)
  await usage.addTokenCounts([])
  t.strictSame(looks, [false, false, false, false])
})
