import { setTimeout as sleep } from 'node:timers/promises'
import { type Outcome, tryCuts } from '../power/cuts.ts'
import type { Entry } from '../power/log.ts'
import { assertModelIsTrue, openSession, type Session } from '../power/session.ts'
import type { Trial, World } from '../trial.ts'
import type { Server } from '../world/server.ts'
import { until } from '../world/until.ts'

/** Cuts of the control: enough that chance does not decide. */
const CONTROL_CUTS = 40

export const power: Trial = {
  name: 'power',
  title: 'power cuts and failed syncs, simulated: is everything on disk that was acknowledged?',
  async run(world) {
    const half = Math.ceil(world.sizes.cuts / 2)
    for (const workers of [1, 2]) await cutPower(world, workers, half)
    const each = Math.ceil(world.sizes.cuts / 10)
    for (const restart of RESTARTS) await failSync(world, restart, each)
    await control(world, Math.max(CONTROL_CUTS, each))
  },
}

/** Load, commands, a clean restart and a kill; then the power fails anywhere in it. */
async function cutPower(world: World, workers: number, count: number): Promise<void> {
  const session = openSession(world, `power-${workers}`, workers)
  const milliseconds = world.size(6000, 800)
  let server = await session.start()
  await session.load(server, milliseconds, async () => {
    await session.command('register')
    await session.command('revoke-all')
  })
  await server.stop()
  server = await session.start()
  await session.load(server, milliseconds, () => session.command('suspend'))
  await session.kill(server.processes())
  server = await session.start()
  await session.load(server, milliseconds, () => session.command('revoke-all'))
  await server.stop()
  assertModelIsTrue(session)
  const outcome = await cut(world, session, { count, from: firstToken(session) })
  judge(world, `${outcome.cuts} power cuts, ${workers} worker${workers === 1 ? '' : 's'}`, session, outcome)
}

/** A way to restart the server after a failed sync. `go` resolves to the server that runs then. */
interface Restart {
  by: string
  workers: number
  go: (session: Session, server: Server) => Promise<Server>
}

const RESTARTS: Restart[] = [
  {
    by: 'SIGTERM',
    workers: 1,
    async go(session, server) {
      await server.stop()
      return session.start()
    },
  },
  {
    by: 'SIGKILL',
    workers: 1,
    async go(session, server) {
      await session.kill(server.processes())
      return session.start()
    },
  },
  {
    by: 'SIGHUP with two workers',
    workers: 2,
    async go(_session, server) {
      server.signal('SIGHUP')
      await until(() => /"(restarted|rolling restart failed)"/.test(server.log()), 'the end of a rolling restart')
      return server
    },
  },
  {
    by: 'SIGKILL of a worker',
    workers: 2,
    async go(session, server) {
      const [worker] = server.processes().slice(1)
      await session.kill([worker as number])
      await until(() => server.processes().length > 2, 'another worker')
      await sleep(500)
      return server
    },
  },
  {
    by: 'a command, then SIGTERM',
    workers: 1,
    async go(session, server) {
      await session.command('register').catch(() => {})
      await session.load(server, 300)
      await server.stop()
      return session.start()
    },
  },
]

/** A sync fails under load, the server is restarted in some way, and the power fails after that. */
async function failSync(world: World, { by, workers, go }: Restart, count: number): Promise<void> {
  const session = openSession(world, `failed-sync-${by.replaceAll(' ', '-')}`, workers)
  const first = await session.start()
  await session.load(first, 600, async () => {
    session.disk.set('failWal', world.random.between(1, 30))
    await until(() => session.disk.get('failWal') === 0, 'a sync that fails')
  })
  const failure = session.log().findIndex((entry) => entry.type === 'sync end' && entry.failed)
  if (failure === -1) throw new Error('No sync failed: the trial is wrong.')
  const done = `a failed sync, then ${by}`
  const before = session.ledger.length
  let refusal = ''
  try {
    let server = await go(session, first)
    await session.load(server, world.size(1500, 600))
    if (session.ledger.length === before) {
      // It rightly issues no tokens until an operator restarts it.
      await server.stop()
      server = await session.start()
      await session.load(server, world.size(1500, 600))
    }
    await server.stop()
  } catch (error) {
    refusal = `; ${(error as Error).message.slice(0, 150)}`
  }
  const outcome = await cut(world, session, { count, from: failure })
  const after = session.ledger.length - before
  judge(world, `${done}, ${outcome.cuts} cuts`, session, outcome, `, ${after} tokens after it${refusal}`)
}

/** The method must be able to fail: a server whose syncs do nothing has to lose tokens. */
async function control(world: World, count: number): Promise<void> {
  const session = openSession(world, 'control', 1)
  session.disk.set('swallow', 1)
  const server = await session.start()
  await session.load(server, 800)
  await server.stop()
  const outcome = await cut(world, session, { count, from: firstToken(session) })
  world.expect(
    outcome.losing > outcome.cuts / 2,
    `control: ${outcome.cuts} cuts with syncs that do nothing`,
    `${outcome.losing} lose tokens, as more than half must`,
  )
}

function cut(world: World, session: Session, { count, from }: { count: number; from: number }): Promise<Outcome> {
  const log = session.log()
  world.step(`${count} cuts in ${log.length} entries, ${session.ledger.length} tokens`)
  return tryCuts(world, { log, from, count, expectedAt: session.expectedAt })
}

/** The index of the entry of the log by which the first client had its token. */
function firstToken({ log, ledger }: Session): number {
  const [first] = ledger
  return first ? log().findIndex((entry: Entry) => entry.time > first.issuedAt) : 0
}

function judge(world: World, done: string, session: Session, outcome: Outcome, more = ''): void {
  const { losing, corrupt, lost, resurrected, applicationsLost } = outcome
  const revoked = session.ledger.filter(({ revokedAt }) => revokedAt !== undefined).length
  const what = `${session.ledger.length} tokens, ${revoked} revocations, ${session.commands()} commands${more}`
  const found = `${losing} cuts lose (${lost} tokens, ${resurrected} revocations, ${applicationsLost} commands), ${corrupt} corrupt`
  world.expect(losing === 0 && corrupt === 0, done, `${what}: ${found}`)
}
