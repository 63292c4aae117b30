import t from 'tap'
import { createRegistryCache } from '../../../src/store/postgres/registry-cache.ts'
import { heapUsed } from '../../support/heap-used.ts'

t.test('Registry cache: of what strangers send it keeps the missing names, and not the requests', async (t) => {
  const cache = createRegistryCache()
  const before = heapUsed()
  for (let n = 0; n < 2000; n++) {
    const request = `${'x'.repeat(8000)}the name of a client ${n}`
    cache.addMissing('application', request.slice(8000))
    cache.addMissing('suite', request.slice(8000))
    cache.addMissing('suite', request)
  }
  t.ok(heapUsed() - before < 4 * 1024 * 1024)
  t.equal(cache.application('the name of a client 1999'), null)
  t.equal(cache.suite('the name of a client 1999'), null)
  t.equal(cache.suite('unknown'), undefined)
})
