import { randomUUID } from 'node:crypto'
import t from 'tap'
import { NODE_FORGOTTEN_MS, type ServerNode } from '../../../src/domain/node.ts'
import type { Nodes } from '../../../src/domain/store.ts'
import { serverNode } from '../../support/server-node.ts'
import { startStores } from './stores.ts'

const openStores = await startStores(2)

/** What two nodes know of each other. */
async function openTwo() {
  const [one, two] = (await openStores()).stores
  return [one.nodes as Nodes, two.nodes as Nodes] as const
}

const node = (name: string, more: Partial<ServerNode> = {}) => serverNode({ id: randomUUID(), name, ...more })

async function namesOf(nodes: Nodes, limit = 100): Promise<string[]> {
  return (await nodes.list(limit)).map(({ name }) => name)
}

t.test('Server nodes: the others see the last report of a node', async (t) => {
  const [one, two] = await openTwo()
  t.strictSame(await two.list(10), [])
  const first = node('web-1:80', { startedAt: 1000, lastSeenAt: 1500 })
  const second = node('web-2:80', { startedAt: 1000, lastSeenAt: 2000, version: '2.0.0' })
  await one.record(first)
  await two.record(second)
  t.strictSame(await one.list(10), [second, first], 'the last one first')
  const later = {
    ...first,
    lastSeenAt: 3000,
    workers: { expected: 4, serving: 4 },
    lastMinute: { tokens: 7, checks: 8, refusals: 9 },
  }
  await one.record(later)
  t.strictSame(await two.list(10), [later, second])
  t.strictSame(await two.list(1), [later])
})

t.test('Server nodes: a node that shuts down is deleted, and no other', async (t) => {
  const [one, two] = await openTwo()
  const first = node('web-1:80')
  await one.record(first)
  await one.record(node('web-2:80'))
  await two.remove(first.id)
  t.strictSame(await namesOf(one), ['web-2:80'])
  await two.remove(first.id)
})

t.test('Server nodes: a report deletes nodes that were not seen for a day', async (t) => {
  const [one] = await openTwo()
  await one.record(node('web-1:80', { lastSeenAt: 2000 }))
  await one.record(node('web-2:80', { lastSeenAt: 2000 + NODE_FORGOTTEN_MS }))
  t.strictSame(await namesOf(one), ['web-2:80', 'web-1:80'])
  await one.record(node('web-3:80', { lastSeenAt: 2001 + NODE_FORGOTTEN_MS }))
  t.strictSame(await namesOf(one), ['web-3:80', 'web-2:80'])
})

t.test('Server nodes: a node that restarts after a kill replaces its earlier run', async (t) => {
  const [one] = await openTwo()
  await one.record(node('web-1:80', { lastSeenAt: 2000 }))
  await one.record(node('web-2:80', { lastSeenAt: 2000 }))
  const next = node('web-1:80', { startedAt: 2001, lastSeenAt: 2001 })
  await one.record(next)
  t.strictSame(await namesOf(one), ['web-1:80', 'web-2:80'])
  t.equal((await one.list(1))[0]?.id, next.id)
})

t.test('Server nodes: two running nodes with the same name do not replace each other', async (t) => {
  const [one, two] = await openTwo()
  const first = node('web-1:80', { startedAt: 1000 })
  const second = node('web-1:80', { startedAt: 3000 })
  await one.record({ ...first, lastSeenAt: 2000 })
  await two.record({ ...second, lastSeenAt: 3000 })
  for (const lastSeenAt of [4000, 5000]) {
    await one.record({ ...first, lastSeenAt })
    await two.record({ ...second, lastSeenAt })
    t.equal((await one.list(10)).length, 2)
  }
})

t.test('Server nodes: concurrent reports do not block each other', async (t) => {
  const stores = await openTwo()
  const nodes = Array.from({ length: 20 }, (_, n) => node(`web-${n % 10}:80`, { startedAt: 1000 + n }))
  for (let round = 0; round < 10; round++) {
    const told = nodes.map((one, n) => (stores[n % 2] as Nodes).record({ ...one, lastSeenAt: 1000 + round * 10 + n }))
    await Promise.all(told)
  }
  t.ok((await stores[0].list(100)).length >= 10)
})
