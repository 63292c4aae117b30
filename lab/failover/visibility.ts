import { runPostgres } from '../../test/support/postgres/server.ts'
import type { Credentials } from '../bench/world/checkout.ts'
import { verifyRequest } from '../bench/world/requests.ts'
import { type Client, openClient } from '../trial/world/client.ts'
import { NODES, startNodes } from './nodes/nodes.ts'
import type { World } from './world.ts'

/** How many tries are under way at once. */
const CLIENTS = 32

export interface Visibility {
  tries: number
  /** Checks that accepted a token after its revocation was answered. */
  accepted: number
}

/** Revokes tokens on one node of three, and checks each at once on another one that has just accepted it. */
export async function tryVisibility(world: World, tries: number): Promise<Visibility> {
  const postgres = await runPostgres()
  const url = await postgres.createDatabase()
  const settings = { DATABASE_URL: `${url}?sslmode=disable` }
  const { nodes, store } = await startNodes(world, [settings, ...Array.from({ length: NODES - 1 }, () => settings)])
  const found = { tries: 0, accepted: 0 }
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const clients = nodes.map(({ port }) => openClient(port))
      while (found.tries < tries) {
        found.tries++
        if (await isAcceptedLate(world, clients, world.random.pick(store.applications))) found.accepted++
        if (found.tries % 10_000 === 0) world.step(`visibility: ${found.tries} tries, ${found.accepted} accepted`)
      }
      for (const client of clients) client.close()
    }),
  )
  await Promise.all(nodes.map((node) => node.stop()))
  await postgres.stop()
  return found
}

async function isAcceptedLate({ random }: World, clients: Client[], application: Credentials): Promise<boolean> {
  const first = random.between(0, clients.length)
  const at = (offset: number) => clients[(first + offset) % clients.length] as Client
  const token = await at(2).token(application)
  if (token === undefined) throw new Error('a token was refused')
  // Otherwise a refusal could mean that the other node does not know the token yet.
  if (!(await at(1).isValid(token))) throw new Error('a token is not valid on another node')
  if (!(await at(0).revoke(application, token))) throw new Error('a revocation was refused')
  const status = await at(1).status(verifyRequest(token))
  if (status !== 200 && status !== 401) throw new Error(`a check was answered by ${status}`)
  return status === 200
}
