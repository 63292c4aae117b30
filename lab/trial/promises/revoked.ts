import type { Credentials } from '../../bench/world/checkout.ts'
import { introspectRequest } from '../../bench/world/requests.ts'
import { type Client, openClient } from '../world/client.ts'
import type { Cluster } from './cluster.ts'

const CONNECTIONS = 4

/** How a token ends: a call on its application, or by its client; and what makes the application usable again, unless it is gone. */
const WAYS: Record<string, [end: string, undo?: string]> = {
  revoked: ['', ''],
  'revoke-all': ['DELETE /tokens', ''],
  suspended: ['PUT /suspension', 'DELETE /suspension'],
  'approval withdrawn': ['DELETE /suites/store', 'PUT /suites/store'],
  removed: ['DELETE '],
}

/** A token that was valid on all connections to all nodes is refused on each of them as soon as its end was answered. */
export async function revokedAtOnce({ world, store, ports, call, register }: Cluster): Promise<void> {
  const clients = ports.flatMap((port) => Array.from({ length: CONNECTIONS }, () => openClient(port)))
  const rounds = world.size(40, 5)
  const found = { before: 0, after: {} as Record<string, number> }
  for (const [name, [end, undo]] of Object.entries(WAYS)) {
    let application = await register(name)
    const change = async (line = '') =>
      line && (await call(line.replace(' ', ` /applications/${application.client_id}`)))
    for (let round = 0; round < rounds; round++) {
      const client = world.random.pick(clients)
      const token = (await client.token(application)) ?? ''
      found.before += await countValid(clients, store.suite, token)
      if (end === '') await client.revoke(application, token)
      else await change(end)
      found.after[name] = (found.after[name] ?? 0) + (await countValid(clients, store.suite, token))
      if (undo === undefined) application = await register(name)
      else await change(undo)
    }
  }
  for (const client of clients) client.close()
  const checks = 2 * clients.length * rounds * Object.keys(WAYS).length
  world.expect(
    found.before === checks && Object.values(found.after).every((passed) => passed === 0),
    `a revoked token is refused at the next check on every node: ${Object.keys(WAYS).join(', ')}, ${rounds} times each, then a check and an introspection on ${clients.length} connections to ${ports.length} nodes`,
    `before, ${found.before} of ${checks} pass; after, ${JSON.stringify(found.after)}`,
  )
}

/** How many checks and introspections find the token valid, one of each on each connection. */
async function countValid(clients: Client[], suite: Credentials, token: string): Promise<number> {
  const checked = await Promise.all(clients.map((client) => client.isValid(token)))
  const introspected = await Promise.all(clients.map((client) => client.send(introspectRequest(suite, token))))
  return checked.filter(Boolean).length + introspected.filter(({ body }) => JSON.parse(body).active === true).length
}
