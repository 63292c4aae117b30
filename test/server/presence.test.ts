import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { ServerNode } from '../../src/domain/statistics.ts'
import type { Nodes } from '../../src/domain/store.ts'
import { startPresence } from '../../src/server/statistics.ts'
import { openStore } from '../../src/store/open.ts'
import { locationOf } from '../support/postgres/location.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { serverNode } from '../support/server-node.ts'
import { until } from '../support/until.ts'

const { createDatabase } = await startDatabases()

/** The nodes of an empty database, and one that counts its reports. */
async function open(t: Test) {
  const store = await openStore(locationOf(await createDatabase()), { lockTimeout: 5000 })
  t.teardown(() => store.close())
  const nodes = store.nodes as Nodes
  const node = serverNode({ id: randomUUID() })
  let told = 0
  const thisNode = (): ServerNode => ({ ...node, lastMinute: { ...node.lastMinute, tokens: ++told } })
  const tokens = async () => (await nodes.list(10)).map(({ lastMinute }) => lastMinute.tokens)
  return { nodes, thisNode, tokens }
}

t.test('Presence: a node reports at once and at intervals, and is deleted when it shuts down', async (t) => {
  const { nodes, thisNode, tokens } = await open(t)
  const { stop } = startPresence(nodes, thisNode, { interval: 10 })
  await until(async () => Number((await tokens())[0]) >= 3)
  await stop()
  t.strictSame(await tokens(), [])
})

t.test('Presence: a node reports once per interval', async (t) => {
  const { nodes, thisNode, tokens } = await open(t)
  const { stop } = startPresence(nodes, thisNode)
  await until(async () => (await tokens()).length === 1)
  t.strictSame(await tokens(), [1])
  await stop()
  t.strictSame(await tokens(), [])
})

t.test('Presence: a failed report is repeated at the next interval, and ignored at shutdown', async (t) => {
  const { nodes, thisNode, tokens } = await open(t)
  let refusals = 0
  const refuse = async () => {
    refusals++
    throw new Error('away')
  }
  const record: Nodes['record'] = (node) => (refusals < 2 ? refuse() : nodes.record(node))
  const { stop } = startPresence({ ...nodes, record, remove: refuse }, thisNode, { interval: 10 })
  await until(async () => (await tokens()).length === 1)
  t.equal(refusals, 2)
  await stop()
  t.equal(refusals, 3)
})

t.test('Presence: a hanging store does not delay shutdown', async (t) => {
  const { nodes, thisNode } = await open(t)
  const { promise: never } = Promise.withResolvers<void>()
  const before = performance.now()
  await startPresence({ ...nodes, record: () => never }, thisNode).stop()
  t.ok(performance.now() - before < 5000)
})
