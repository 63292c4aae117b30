import t, { type Test } from 'tap'
import type { NewApplication } from '../../../src/domain/application.ts'
import type { Store } from '../../../src/domain/store.ts'
import { createApiWorld } from '../../support/api.ts'
import { AUDIT } from '../../support/audit.ts'
import { START } from '../../support/world.ts'

const COUNT = 20_000

t.test(
  'API: 20,000 applications are listed and searched in small steps, and other requests run in between',
  async (t) => {
    const { call, context, store } = await createApiWorld(t)
    const applications = Array.from(
      { length: COUNT },
      (_, n): NewApplication => ({
        clientId: `client-${n}`,
        name: n % 1000 === 0 ? `Wörkshop ${n}` : `Application ${n}`,
        developerEmail: `dev-${n}@partner.example`,
        createdAt: START,
        secret: { digest: '$sha256$AAAA', createdAt: START },
        suites: [],
        skipNamesake: false,
      }),
    )
    await store.register({ suites: [], applications }, AUDIT)
    const most = watchSteps(t, context.store)

    const first = (await call('GET', '/applications?limit=200')).body
    t.equal(first.applications.length, 200)
    t.equal(first.applications[0].client_id, `client-${COUNT - 1}`)
    t.strictSame(most(), { names: 100, whole: 10 })
    const found = (await call('GET', '/applications?search=W%C3%96RKSHOP')).body
    t.equal(found.applications.length, 20)
    t.strictSame(most(), { names: 100, whole: 10 })
    t.strictSame((await call('GET', '/applications?search=nobody')).body, { applications: [], next: null })
    t.equal((await call('GET', '/applications/client-20000/diagnosis')).status, 404)
    t.strictSame(most(), { names: 100, whole: 1 }, 'also while looking for similar client ids')

    let pages = 0
    for (let next: string | null = ''; next !== null; pages++) {
      next = (await call('GET', `/applications?search=wörkshop&limit=7${next && `&after=${next}`}`)).body.next
    }
    t.equal(pages, 3)
  },
)

/** Counts rows read in one turn of the event loop. The returned function resolves to the maximum since its last call. */
function watchSteps(t: Test, store: Store) {
  const { listNames, listApplicationsOf, findApplication } = store
  const turn = { names: 0, whole: 0 }
  let most = { ...turn }
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  function add(kind: keyof typeof turn, count: number): void {
    turn[kind] += count
    most[kind] = Math.max(most[kind], turn[kind])
  }
  store.listNames = async (page) => {
    const names = await listNames(page)
    add('names', names.length)
    return names
  }
  store.listApplicationsOf = (keys) => {
    add('whole', keys.length)
    return listApplicationsOf(keys)
  }
  store.findApplication = (clientId) => {
    add('whole', 1)
    return findApplication(clientId)
  }
  function nextTurn(): void {
    Object.assign(turn, { names: 0, whole: 0 })
    if (!isOver) setImmediate(nextTurn)
  }
  nextTurn()
  return () => {
    const result = most
    most = { names: 0, whole: 0 }
    return result
  }
}
