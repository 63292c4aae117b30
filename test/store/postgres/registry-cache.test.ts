import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createRegistryCache } from '../../../src/store/postgres/registry-cache.ts'

t.test(
  'Registry cache: of what strangers send it keeps the names that are missing, and not the requests',
  async (t) => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const heap = () => {
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const cache = createRegistryCache()
    const before = heap()
    for (let n = 0; n < 2000; n++) {
      const request = `${'x'.repeat(8000)}the name of a client ${n}`
      cache.addMissing('application', request.slice(8000))
      cache.addMissing('suite', request.slice(8000))
      cache.addMissing('suite', request)
    }
    t.ok(heap() - before < 4 * 1024 * 1024)
    t.equal(cache.application('the name of a client 1999'), null)
    t.equal(cache.suite('the name of a client 1999'), null)
    t.equal(cache.suite('unknown'), undefined)
  },
)
