import type { Test } from 'tap'
import { IdempotencyKeyTaken } from '../../../src/domain/idempotency.ts'
import { AUDIT } from '../../support/audit.ts'
import { application } from '../../support/newcomers.ts'
import { START } from '../../support/world.ts'
import { type Harness, onEmptyStore, register, SECRET } from './harness.ts'

const DAY = 24 * 3_600_000

export function idempotencyConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)
  const auditOf = (sealed: string, at = START, digest = 'd') => ({ ...AUDIT, at, idempotency: { digest, sealed } })

  test('Store: a change with an idempotency record is made once, and its answer kept for a day', async (t, store) => {
    await register(store, 'a')
    t.equal(await store.findSealedAnswer('d', START - 1), undefined)
    await store.rotateSecret('a', SECRET, START + 9, 0, auditOf('first'))
    t.equal(await store.findSealedAnswer('d', START - 1), 'first')
    t.equal(await store.findSealedAnswer('d', START), undefined, 'it is too old')
    const before = await store.findApplication('a')
    await t.rejects(store.rotateSecret('a', SECRET, START, 0, auditOf('second', START + DAY - 1)), IdempotencyKeyTaken)
    t.strictSame(await store.findApplication('a'), before)
    t.equal(await store.findSealedAnswer('d', START - 1), 'first')
    await store.rotateSecret('a', SECRET, START + 9, 0, auditOf('third', START + DAY))
    t.equal(await store.findSealedAnswer('d', START), 'third')
  })

  test('Store: no idempotency record is stored if nothing changed', async (t, store) => {
    await register(store, 'a')
    t.equal(await store.rotateSecret('nobody', SECRET, START, 0, auditOf('x')), false)
    const newcomers = { suites: [], applications: [application('a')] }
    t.strictSame(await store.register(newcomers, auditOf('x')), { suites: [], applications: [] })
    t.equal(await store.findSealedAnswer('d', 0), undefined)
  })

  test('Store: old idempotency records are purged, up to the limit', async (t, store) => {
    await register(store, 'a')
    for (const time of [3, 1, 2, 4])
      await store.rotateSecret('a', SECRET, START + 9, 0, auditOf(`${time}`, START + time, `${time}`))
    const left = async () => {
      const found = await Promise.all([1, 2, 3, 4].map((time) => store.findSealedAnswer(`${time}`, 0)))
      return found.filter((sealed) => sealed !== undefined)
    }
    t.equal(await store.purgeIdempotencyRecords(START + 4, 2), 2)
    t.strictSame(await left(), ['3', '4'])
    t.equal(await store.purgeIdempotencyRecords(START + 4, 2), 1)
    t.equal(await store.purgeIdempotencyRecords(START + 4, 2), 0)
    t.strictSame(await left(), ['4'])
  })
}
