import { startAttack } from '../flood/attacked.ts'
import { serveGood } from '../flood/good.ts'
import type { World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { type Data, seed } from '../world/data.ts'
import type { Server } from '../world/server.ts'

const IMPORTED = { client_id: 'imported', client_secret: 'chosen-by-a-partner-years-ago' }

/** The right secret passes while somebody guesses it, from the same address and as fast as a core can. */
export async function guessedWithoutLockOut(world: World, data: Data, server: Server): Promise<void> {
  for (const [kind, application] of Object.entries({ generated: data.applications[0], imported: IMPORTED })) {
    if (application === IMPORTED) {
      seed(data, { applications: [{ ...IMPORTED, name: 'Imported', developer_email: 'dev@partner.example' }] })
    }
    const client = openClient(server.port)
    const token = await client.token(application)
    client.close()
    if (!token) throw new Error(`No token for the ${kind} secret.`)
    // The number takes the place of as many digits, so the length of the body stays.
    const request = tokenRequest({ ...application, client_secret: 'guess-00000000' }).replace('00000000', '#')
    const guesses = { kind: 'requests', port: server.port, connections: 20, inFlight: 4, count: 1e12, request } as const
    const attack = startAttack(world, guesses)
    const { waits, refused } = await serveGood(server.port, { application, token, seconds: world.size(10, 3) })
    const { sent, statuses } = await attack.stop()
    const isRefused = Object.keys(statuses).every((status) => ['401', '429', '503'].includes(status))
    world.expect(
      refused.length === 0 && isRefused && sent > 0,
      `guessing without lock-out: wrong secrets for a client with ${kind === 'imported' ? 'an imported' : 'a generated'} secret, from its own address, on ${guesses.connections} connections, while it asks with the right one`,
      `${sent} guesses, answered so far ${JSON.stringify(statuses)}; ${refused.length} of its own ${waits.length} requests refused`,
    )
  }
}
