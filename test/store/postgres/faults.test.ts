import t, { type Test } from 'tap'
import type { ApplicationKey } from '../../../src/domain/application.ts'
import { parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { AUDIT } from '../../support/audit.ts'
import { isReady } from '../../support/is-ready.ts'
import { startPair } from '../../support/postgres/postgres.ts'
import { until } from '../../support/until.ts'

const pair = await startPair(t)

/** A store on a primary that waits for its standby, with an application. */
async function createWorld(t: Test) {
  const url = await pair.primary.createDatabase()
  const store = await openStore(parseDatabaseUrl(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  const secret = { digest: '$sha256$AAAA', createdAt: 1 }
  const one = { clientId: 'a', name: 'A', developerEmail: 'a@b.example', createdAt: 1, secret }
  await store.register({ suites: [], applications: [{ ...one, suites: [], skipNamesake: false }] }, AUDIT)
  const key = (await store.findApplication('a'))?.key as ApplicationKey
  const role = new URL(url).username
  const known = mintToken(key, Date.now()).stored
  await store.addToken(known)
  return {
    store,
    known,
    newToken: () => mintToken(key, Date.now()).stored,
    /** How many commits of these statements wait for the standby. */
    waiting: async (statements: string) => {
      const text = `SELECT pid FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'SyncRep' AND query ~ $2`
      return pair.primary.query(text, [role, statements])
    },
    isReady: () => isReady(store),
  }
}

type World = Awaited<ReturnType<typeof createWorld>>

/** Every kind of change that somebody is answered, and the statement whose end makes it so. */
const CHANGES: { name: string; statement: string; make: (world: World) => Promise<unknown> }[] = [
  { name: 'a new token', statement: 'INSERT INTO tokens', make: ({ store, newToken }) => store.addToken(newToken()) },
  {
    name: 'a revocation',
    statement: 'UPDATE tokens',
    make: ({ store, known }) => store.revokeToken(known.id, 5),
  },
  { name: 'a status', statement: 'COMMIT', make: ({ store }) => store.setStatus('a', 'suspended', AUDIT) },
  { name: 'the revocation of all tokens', statement: 'COMMIT', make: ({ store }) => store.revokeTokens('a', 5, AUDIT) },
]

for (const { name, statement, make } of CHANGES) {
  for (const how of ['pg_cancel_backend', 'pg_terminate_backend', 'nothing']) {
    t.test(`A commit that waits for a standby, and ${how}: ${name} is not acknowledged`, async (t) => {
      const world = await createWorld(t)
      pair.standby.suspend()
      const answer = make(world)
      const rejected = t.rejects(answer, StoreUnavailable)
      await until(async () => (await world.waiting(statement)).length === 1)
      const [{ pid }] = (await world.waiting(statement)) as [{ pid: number }]
      if (how !== 'nothing') await pair.primary.query(`SELECT ${how}($1)`, [pid])
      await rejected
      pair.standby.resume()
      await until(world.isReady)
      await make(world)
    })
  }
}
