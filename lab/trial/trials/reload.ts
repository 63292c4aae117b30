import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import type { Trial, World } from '../trial.ts'
import { openClient } from '../world/client.ts'
import { fillStore } from '../world/data.ts'
import { audit, type Entry, startLoad } from '../world/ledger.ts'
import { addOperator, callApi } from '../world/operator.ts'
import { type Postgres, withPostgres } from '../world/postgres.ts'
import { startServer } from '../world/server.ts'

const RELOADED_MS = 500
const HABITS = { connections: 16, revoke: 0.2, twice: 0.2 }

export const reload: Trial = {
  name: 'reload',
  title: 'synchronous_commit=off by a reload of PostgreSQL, then kill -9 of all: is everything there?',
  async run(world) {
    // Only a commit that insists is written soon: the WAL writer sleeps.
    await withPostgres({ settings: { wal_writer_delay: '10s' } }, async (postgres) => {
      await tryControl(world, postgres)
      await tryReloads(world, postgres)
    })
  },
}

/** Commits that do not insist must be lost, or the trial would find nothing anywhere. */
async function tryControl(world: World, postgres: Postgres): Promise<void> {
  await postgres.query('CREATE TABLE control (number int)')
  await postgres.query('CHECKPOINT')
  await setDurable(postgres, false)
  await sleep(RELOADED_MS)
  await postgres.query('INSERT INTO control SELECT generate_series(1, 100)')
  await postgres.kill()
  await restart(postgres)
  const [{ count }] = await postgres.query('SELECT count(*)::int FROM control')
  world.expect(count < 100, 'control: commits that do not insist', `${100 - count} of 100 rows lost`)
}

async function tryReloads(world: World, postgres: Postgres): Promise<void> {
  const store = fillStore(world, { DATABASE_URL: await postgres.createDatabase() }, 10)
  const key = await addOperator(store, 'anna', 'admin')
  const admin = await freePort()
  const ledger: Entry[] = []
  const registered: Credentials[] = []
  const found = { lost: 0, resurrected: 0, registrations: 0 }
  const rounds = world.size(20, 3)

  for (let round = 1; round <= rounds; round++) {
    const [from, before] = [ledger.length, registered.length]
    const server = await startServer(world, store, { ADMIN_ADDRESS: `127.0.0.1:${admin}` })
    const load = startLoad(server.port, { ...store, random: world.random, ledger, habits: HABITS })
    const registering = startRegistrations(admin, key, registered)
    await sleep(world.random.between(500, 1500))
    await setDurable(postgres, false)
    await sleep(RELOADED_MS)
    await Promise.all([server.kill(), postgres.kill()])
    await Promise.all([load.stop(), registering.stop()])
    await restart(postgres)

    const next = await startServer(world, store)
    const { lost, resurrected } = await audit(next.port, ledger.slice(from))
    found.lost += lost
    found.resurrected += resurrected
    found.registrations += await countUnknown(next.port, registered.slice(before))
    await next.stop()
    world.step(`${round} of ${rounds}: ${ledger.length} tokens, ${registered.length} registrations`)
  }
  const revoked = ledger.filter(({ revokedAt }) => revokedAt !== undefined).length
  world.expect(
    found.lost + found.resurrected + found.registrations === 0 && ledger.length > 0 && registered.length > 0,
    `kill -9 of all, ${RELOADED_MS} ms after synchronous_commit=off by a reload, ${rounds} times`,
    `${ledger.length} tokens: ${found.lost} lost; ${revoked} revocations: ${found.resurrected} resurrected; ${registered.length} registrations: ${found.registrations} lost`,
  )
}

async function setDurable(postgres: Postgres, isDurable: boolean): Promise<void> {
  await postgres.query(`ALTER SYSTEM SET synchronous_commit = ${isDurable ? 'on' : 'off'}`)
  await postgres.query('SELECT pg_reload_conf()')
}

/** Starts PostgreSQL again, with durable commits. */
async function restart(postgres: Postgres): Promise<void> {
  await postgres.start()
  await setDurable(postgres, true)
  await sleep(RELOADED_MS)
}

/** Registers applications by the API, one after another, until it is stopped. Only acknowledged ones are added. */
function startRegistrations(port: number, key: string, registered: Credentials[]) {
  let isOver = false
  const loop = async () => {
    while (!isOver) {
      const content = { name: `Application ${randomUUID()}`, developer_email: 'dev@partner.example', suites: ['store'] }
      const answer = await callApi(port, key, 'POST /applications', content).catch(() => undefined)
      if (answer) registered.push(answer)
      else await sleep(10)
    }
  }
  const loops = [loop(), loop()]
  return {
    async stop(): Promise<void> {
      isOver = true
      await Promise.all(loops)
    },
  }
}

/** How many of these applications get no token. */
async function countUnknown(port: number, applications: Credentials[]): Promise<number> {
  const client = openClient(port)
  let unknown = 0
  for (const application of applications) if (!(await client.token(application))) unknown++
  client.close()
  return unknown
}
