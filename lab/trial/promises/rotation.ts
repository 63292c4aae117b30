import { setTimeout as sleep } from 'node:timers/promises'
import { openClient } from '../world/client.ts'
import type { Cluster } from './cluster.ts'

const CLIENTS = 12
const OVERLAP_MS = 5000

/** The latest moment at which a client begins to use the new secret: before the old one ends. */
const LATEST_MS = 2400

/** Clients ask all the time, and each begins to use the new secret at some moment of the overlap. */
export async function rotatedWithoutOutage({ world, ports, call, register }: Cluster): Promise<void> {
  let current = await register('rotated')
  const found = { tokens: 0, refused: 0, old: 0 }
  let isOver = false

  async function client(): Promise<void> {
    const connection = openClient(ports)
    let own = current
    let switchAt: number | undefined
    while (!isOver) {
      const now = performance.now()
      if (own !== current) switchAt ??= now + world.random.between(0, LATEST_MS)
      if (switchAt !== undefined && now >= switchAt) [own, switchAt] = [current, undefined]
      const token = await connection.token(own).catch(() => undefined)
      if (token) found.tokens++
      else found.refused++
      await sleep(world.random.between(0, 20))
    }
    connection.close()
  }

  const clients = Array.from({ length: CLIENTS }, client)
  const rounds = world.size(10, 2)
  for (let round = 0; round < rounds; round++) {
    const old = current
    const path = `/applications/${old.client_id}/secrets`
    const { client_secret } = await call(`POST ${path}`, { overlap_seconds: OVERLAP_MS / 1000 })
    current = { ...old, client_secret }
    await sleep(OVERLAP_MS + 100)
    for (const port of ports) {
      const connection = openClient(port)
      if (await connection.token(old)) found.old++
      connection.close()
    }
  }
  isOver = true
  await Promise.all(clients)
  world.expect(
    found.refused === 0 && found.old === 0 && found.tokens > 0,
    `rotation without an outage: ${rounds} rotations with an overlap of ${OVERLAP_MS / 1000} s, while ${CLIENTS} clients ask ${ports.length} nodes and each changes its secret at some moment of the overlap`,
    `${found.tokens} tokens, ${found.refused} requests refused; after the overlap the old secret gets ${found.old} tokens`,
  )
}
