import type { Test } from 'tap'
import type { Notice } from '../../../src/domain/notice.ts'
import { notice } from '../../support/notice.ts'
import { START } from '../../support/world.ts'
import { type Harness, onEmptyStore, onTwoHandles } from './harness.ts'

export function noticeConformance(t: Test, harness: Harness): void {
  onEmptyStore(t, harness)('Store: notices are kept in their order, changed and removed', async (t, store) => {
    t.strictSame(await store.listNotices(), [])
    const strange = notice({
      id: 3,
      matter: 'client refused application "ü\u{1f4a9}"',
      stage: '14',
      body: '{"text":"\\u0000"}',
    })
    const [first, second] = [
      notice({ id: 1, event: 'ended', priority: 2 }),
      notice({ id: 2, dueAt: null, sentAt: START, attempts: 2 }),
    ]
    await store.updateNotices((stored) => {
      t.strictSame(stored, [])
      return { save: [strange, first, second] }
    })
    const withoutBody = (one: Notice) => ({ ...one, body: '{}' })
    t.strictSame(await store.listNotices(), [first, second, strange].map(withoutBody))
    const changed = {
      ...strange,
      seenAt: START + 1,
      dueAt: START + 2,
      attempts: 1,
      problem: 'it answered 500',
      status: 500,
      sentAt: 1,
    }
    await store.updateNotices((stored) => {
      t.strictSame(stored, [first, second, strange])
      return { save: [{ ...changed, body: 'what it says stays' }], remove: [2] }
    })
    await store.updateNotices((stored) => {
      t.strictSame(stored, [first, changed])
      return { save: [] }
    })
    t.strictSame(await store.listNotices(), [first, changed].map(withoutBody))
  })

  onTwoHandles(t, harness)(
    'Store: of processes that change notices at once, each decides by what the others did',
    async (t, one, other) => {
      const takeNext = (store: typeof one) =>
        store.updateNotices((stored) => ({ save: [notice({ id: stored.length + 1 })] }))
      await Promise.all(Array.from({ length: 10 }, (_, n) => takeNext(n % 2 ? one : other)))
      t.equal((await one.listNotices()).length, 10)
      t.strictSame(await one.listNotices(), await other.listNotices())
    },
  )
}
