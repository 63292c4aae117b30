import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ApplicationKey } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { mintToken } from '../../src/domain/token.ts'
import { openStores } from '../../src/server/serve.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { AUDIT } from '../support/audit.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const LOCK = { lockTimeout: 0 }

t.test('Opening: a store that has moved is served with a warning', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const events: Event[] = []
  const open = () =>
    openStores({ DATABASE_URL: { kind: 'sqlite', file }, PREVIOUS_DATABASE_URL: undefined }, LOCK, (event) =>
      events.push(event),
    )
  await (await open()).close()
  t.strictSame(events, [])
  const store = openSqlite(file, LOCK)
  await store.move.begin('postgres://h:5432/d', 0)
  await store.close()
  const moved = await open()
  t.strictSame(events, [{ type: 'database has moved', movedTo: 'postgres://h:5432/d' }])
  await moved.ping()
  await moved.close()
})

t.test(
  'Opening: the store that was copied is asked for tokens, too; one that was not copied, or not to the end, is refused',
  async (t) => {
    const file = join(temporaryFolder(t), 'old.db')
    const locations = {
      DATABASE_URL: { kind: 'sqlite', file: ':memory:' },
      PREVIOUS_DATABASE_URL: { kind: 'sqlite', file },
    } as const
    const open = () => openStores(locations, LOCK, () => t.fail('nothing is to be said'))
    await t.rejects(open(), {
      name: 'OperatorError',
      message: /^PREVIOUS_DATABASE_URL: there is no database at .*old\.db\.$/,
    })
    writeFileSync(file, 'no database'.repeat(100))
    await t.rejects(open(), { name: 'StoreUnavailable', message: /old\.db cannot be opened: / })
    rmSync(file)
    const previous = openSqlite(file, LOCK)
    t.teardown(() => previous.close())
    await t.rejects(open(), { name: 'OperatorError', message: /^PREVIOUS_DATABASE_URL: .*old\.db was not copied/ })
    await previous.move.begin('postgres://h:5432/d', 0)
    await t.rejects(open(), {
      name: 'OperatorError',
      message: /^PREVIOUS_DATABASE_URL: .*old\.db is being copied to postgres:\/\/h:5432\/d, or that did not end/,
    })
    await previous.move.complete('postgres://h:5432/d', 0, AUDIT)
    const { stored } = mintToken(1 as unknown as ApplicationKey, Date.now())
    await previous.addToken(stored)
    const store = await open()
    t.equal(store.previous, previous.database)
    t.match(await store.findToken(stored.id), { stored })
    await store.close()
  },
)
