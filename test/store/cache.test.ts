import t from 'tap'
import { type CacheOptions, cacheLookup } from '../../src/store/cache.ts'
import { createRegistryCache } from '../../src/store/postgres/registry.ts'
import { heapUsed } from '../support/heap-used.ts'

function createLookup(options?: CacheOptions) {
  const looked: string[] = []
  const find = cacheLookup((key: string) => {
    looked.push(key)
    return key.startsWith('nobody') ? undefined : { key }
  }, options)
  return { find, looked }
}

t.test('Cache: a result is not looked up again until the cache is cleared', async (t) => {
  const { find, looked } = createLookup()
  t.strictSame(find('a'), { key: 'a' })
  t.equal(find('a'), find('a'), 'it is the same object')
  t.strictSame(looked, ['a'])
  find.clear()
  find('a')
  t.strictSame(looked, ['a', 'a'])
})

t.test('Cache: a miss is cached like a hit, so that timing does not reveal whether a name exists', async (t) => {
  for (const [times, options] of [{}, { missCapacity: 0 }].entries()) {
    const { find, looked } = createLookup(options)
    for (let time = 0; time < 2; time++) t.equal(find('nobody'), undefined)
    t.strictSame(looked, Array(times + 1).fill('nobody'), 'but for where misses are not cached')
    find.clear()
    find('nobody')
    t.strictSame(looked, Array(times + 2).fill('nobody'))
  }
})

t.test('Cache: it is bounded, and drops entries that were not read recently', async (t) => {
  const { find, looked } = createLookup({ capacity: 2, missCapacity: 2 })
  for (const key of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) find(key)
  t.strictSame(looked, ['a', 'b', 'c', 'd', 'b'])

  for (const key of ['nobody 1', 'nobody 2', 'nobody 3', 'nobody 4', 'nobody 5']) find(key)
  looked.length = 0
  find('nobody 5')
  t.strictSame(looked, [], 'misses too')
  find('nobody 1')
  t.strictSame(looked, ['nobody 1'])
})

t.test('Cache: it keeps the names that requests look up, not the whole requests', async (t) => {
  const nothing = cacheLookup((_: string): string | undefined => undefined)
  const all = cacheLookup((name: string) => name.length)
  const ofPostgres = createRegistryCache()
  const before = heapUsed()
  for (let n = 0; n < 2000; n++) {
    const request = `${'x'.repeat(8000)}the name of a client ${n}`
    const name = request.slice(8000)
    for (const missing of [name, request]) nothing(missing)
    all(name)
    ofPostgres.addMissing('application', name)
    for (const missing of [name, request]) ofPostgres.addMissing('suite', missing)
  }
  t.ok(heapUsed() - before < 8 * 1024 * 1024)
  t.equal(ofPostgres.application('the name of a client 1999'), null)
  t.equal(ofPostgres.suite('the name of a client 1999'), null)
  t.equal(ofPostgres.suite('unknown'), undefined)
})
