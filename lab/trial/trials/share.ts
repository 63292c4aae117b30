import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import { adminRequest } from '../../bench/world/requests.ts'
import { startAttack } from '../flood/attacked.ts'
import { percentile } from '../flood/good.ts'
import type { Trial, World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { makeData, seed } from '../world/data.ts'
import { addOperator } from '../world/operator.ts'
import { startServer } from '../world/server.ts'

/** On a busy machine a new connection waits for a minute beside a flood, because Node.js accepts one per turn of its event loop. */
const PATIENCE_MS = 120_000
const PIPELINED = 65
const IMPORTED = 31
/** How often a client asks while the server is busy (503). */
const TRIES = 3
const OTHER = '127.0.0.2'

export const share: Trial = {
  name: 'share',
  title: 'what one viewer, or one address with many names, leaves of slow work for the others',
  async run(world) {
    await viewers(world)
    await privateProxies(world)
  },
}

/** A viewer pipelines searches among many applications, while an admin works. */
async function viewers(world: World): Promise<void> {
  const count = world.size(20_000, 4000)
  const data = makeData(world, join(world.folder, 'viewers'), count)
  const [viewer, admin] = [await addOperator(data, 'viktor', 'viewer'), await addOperator(data, 'anna', 'admin')]
  const port = await freePort()
  const server = await startServer(world, data, { ADMIN_ADDRESS: `127.0.0.1:${port}` })
  const request = adminRequest('/admin/v1/applications?search=no+such+name', viewer)
  const seconds = world.size(20, 5)
  const idle = await work(port, admin, seconds)
  const attack = startAttack(world, {
    kind: 'requests',
    port,
    connections: 1,
    inFlight: PIPELINED,
    count: 1e12,
    request,
  })
  await sleep(500)
  const attacked = await work(port, admin, seconds)
  const { statuses } = await attack.stop()
  await server.stop()

  const refused = attacked.statuses.filter((status) => status !== 200)
  const p50 = (waits: number[]) => `${percentile(waits, 50).toFixed(0)} ms`
  world.expect(
    refused.length === 0 && attacked.waits.length > 0,
    `a viewer pipelines ${PIPELINED} searches among ${count} applications; an admin's requests`,
    `${refused.length} of ${attacked.waits.length} refused${refused.length > 0 ? ` (${[...new Set(refused)]})` : ''}; p50 ${p50(attacked.waits)}, idle ${p50(idle.waits)}; the searches: ${JSON.stringify(statuses)}`,
  )
}

/** An operator's requests, one after another. The status is 0 where there is no answer. */
async function work(port: number, key: string, seconds: number) {
  const client = openClient(port, { timeout: PATIENCE_MS })
  const [statuses, waits]: [number[], number[]] = [[], []]
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    const startedAt = performance.now()
    statuses.push(await client.status(adminRequest('/admin/v1/suites', key)).catch(() => 0))
    waits.push(performance.now() - startedAt)
    await sleep(20)
  }
  client.close()
  return { statuses, waits }
}

/** An address that is no trusted proxy's invents addresses and client ids, while imported secrets are used for the first time. */
async function privateProxies(world: World): Promise<void> {
  const data = makeData(world, join(world.folder, 'proxies'), 1)
  const imported = Array.from({ length: IMPORTED }, (_, n) => ({
    client_id: `imported-${n}`,
    client_secret: `an-imported-secret-of-partner-${n}`,
  }))
  const names = { name: 'Imported', developer_email: 'dev@partner.example' }
  seed(data, { applications: imported.map((one) => ({ ...one, ...names, name: `Imported ${one.client_id}` })) })
  // The number takes the place of as many digits, so the length of the body stays.
  const unknown = { client_id: 'nobody-00000000', client_secret: 'wrong' }
  const request = tokenRequest(unknown, 'X-Forwarded-For: @\r\n').replace('00000000', '#')
  const flood = { kind: 'requests' as const, connections: 500, inFlight: 4, count: 1e12, request, from: [OTHER] }

  for (const isAttacked of [false, true]) {
    const server = await startServer(world, data)
    const attack = isAttacked ? startAttack(world, { ...flood, port: server.port }) : undefined
    await sleep(1500)
    const { statuses, repeated, longest } = await useAll(server.port, imported)
    const attacked = await attack?.stop()
    await server.stop()
    const answered = statuses.filter((status) => status === 200).length
    world.expect(
      answered === IMPORTED,
      `${IMPORTED} imported secrets for the first time, ${attacked ? 'while an address that is no trusted proxy invents addresses and client ids' : 'and nothing else'}`,
      `${answered} get a token (${[...new Set(statuses)]}), ${repeated} requests repeated after 503, after ${longest.toFixed(1)} s at most${attacked ? `; the flood: ${JSON.stringify(attacked.statuses)}` : ''}`,
    )
  }
}

/**
 * Each application asks for a token, and again after 503, as a client does. The status is 0 where there is no answer; `longest` is
 * in seconds.
 */
async function useAll(port: number, applications: Credentials[]) {
  const queue = applications.values()
  const statuses: number[] = []
  let repeated = 0
  let longest = 0
  const loop = async () => {
    const client = openClient(port, { timeout: PATIENCE_MS })
    const ask = (application: Credentials) => client.status(tokenRequest(application)).catch(() => 0)
    for (const application of queue) {
      const startedAt = performance.now()
      let status = await ask(application)
      for (let tries = 1; status === 503 && tries < TRIES; tries++) {
        repeated++
        await sleep(1000)
        status = await ask(application)
      }
      statuses.push(status)
      longest = Math.max(longest, (performance.now() - startedAt) / 1000)
    }
    client.close()
  }
  await Promise.all(Array.from({ length: 4 }, loop))
  return { statuses, repeated, longest }
}
