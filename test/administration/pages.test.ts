import t from 'tap'
import { createWorld } from '../support/world.ts'

t.test('Lists: applications and suites of many pages are all listed, oldest first, each once', async (t) => {
  const { administration, credentials } = await createWorld(t)
  const numbers = Array.from({ length: 1001 }, (_, n) => n)
  await administration.seed({
    suites: numbers.map((n) => ({ suiteId: `suite-${n}`, name: 'Suite' })),
    applications: numbers.map((n) => ({
      clientId: `application-${n}`,
      name: 'A',
      developerEmail: 'a@b.example',
      suites: [],
    })),
  })
  t.strictSame(
    (await administration.list()).map(({ clientId }) => clientId),
    [credentials.client_id, ...numbers.map((n) => `application-${n}`)],
  )
  t.strictSame(
    (await administration.listSuites()).map(({ suiteId }) => suiteId),
    numbers.map((n) => `suite-${n}`),
  )
})
