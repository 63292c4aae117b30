import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

const STORE = { suiteId: 'store', name: 'Store API' }
const OTHER = { suiteId: 'other', name: 'Other API' }

/** A world with a suite, and a way to let the store fail from then on at one kind of change. */
async function createFailingWorld(t: Test) {
  const file = join(temporaryFolder(t), 'store.db')
  const world = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  await world.administration.registerSuite(STORE)
  await world.administration.approve(world.credentials.client_id, 'store')
  const db = new Database(file)
  t.teardown(() => db.close())
  const fail = (change: string) =>
    db.exec(`CREATE TRIGGER fails BEFORE ${change} BEGIN SELECT RAISE(ABORT, 'full'); END`)
  return { ...world, fail }
}

type World = Awaited<ReturnType<typeof createFailingWorld>>

/** What the store must do for each change that an operator asks for. */
const CHANGES: Record<string, [change: string, act: (world: World, clientId: string) => Promise<unknown>]> = {
  register: [
    'INSERT ON applications',
    ({ administration }) => administration.register({ name: 'A', developerEmail: 'a@b.example' }),
  ],
  'register a suite': ['INSERT ON suites', ({ administration }) => administration.registerSuite(OTHER)],
  seed: ['INSERT ON suites', ({ administration }) => administration.seed({ suites: [OTHER], applications: [] })],
  suspend: ['UPDATE ON applications', ({ administration }, clientId) => administration.suspend(clientId)],
  remove: ['DELETE ON applications', ({ administration }, clientId) => administration.remove(clientId)],
  'remove a suite': ['DELETE ON suites', ({ administration }) => administration.removeSuite('store')],
  approve: ['INSERT ON approvals', ({ administration }, clientId) => administration.approve(clientId, 'store')],
  withdraw: ['DELETE ON approvals', ({ administration }, clientId) => administration.withdraw(clientId, 'store')],
  'rotate a secret': ['INSERT ON secrets', ({ administration }, clientId) => administration.rotateSecret(clientId, 0)],
  'revoke all tokens': [
    'UPDATE ON applications',
    ({ administration }, clientId) => administration.revokeAllTokens(clientId),
  ],
}

for (const [what, [change, act]] of Object.entries(CHANGES)) {
  t.test(`Administration: whoever asks to ${what} is told where the store fails`, async (t) => {
    const world = await createFailingWorld(t)
    world.fail(change)
    await t.rejects(async () => void (await act(world, world.credentials.client_id)))
  })
}
