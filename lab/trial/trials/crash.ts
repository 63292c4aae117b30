import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Trial, World } from '../trial.ts'
import { makeData } from '../world/data.ts'
import { audit, type Entry, type Losses, startLoad } from '../world/ledger.ts'
import { isAlive, kill, type Server, startServer } from '../world/server.ts'
import { until } from '../world/until.ts'

/** How long a server runs under load before the next kill, milliseconds. */
const SHORTEST = 50
const LONGEST = 700

/** How many tokens of all rounds are checked once more at the end. */
const SAMPLE = 20_000

export const crash: Trial = {
  name: 'crash',
  title: 'kill -9 of the server or a worker under load; is everything there that was acknowledged?',
  async run(world) {
    const kills = (part: number) => Math.ceil((world.sizes.kills - part) / 3)
    await tryKills(world, 'the server', { workers: 1, kills: kills(0), victim: leader })
    await tryKills(world, 'the leader of two workers', { workers: 2, kills: kills(1), victim: leader })
    await tryKills(world, 'one of two workers', { workers: 2, kills: kills(2), victim: worker })
  },
}

type Victim = (server: Server, world: World) => number

const leader: Victim = ({ pid }) => pid
const worker: Victim = (server, { random }) => random.pick(server.processes().slice(1))

async function tryKills(
  world: World,
  who: string,
  { workers, kills, victim }: { workers: number; kills: number; victim: Victim },
): Promise<void> {
  if (kills <= 0) return
  const { random } = world
  const folder = join(world.folder, who.replaceAll(' ', '-'))
  const data = makeData(world, folder, 20)
  const settings = { WORKERS: String(workers) }
  let server = await startServer(world, data, settings)
  const ledger: Entry[] = []
  const losses: Losses = { lost: 0, resurrected: 0 }

  for (let round = 1; round <= kills; round++) {
    const from = ledger.length
    const load = startLoad(server.port, {
      applications: data.applications,
      random,
      ledger,
      habits: { connections: random.pick([1, 4, 16, 64]), revoke: 0.2, twice: 0.3 },
    })
    await sleep(random.between(SHORTEST, LONGEST))
    const pid = victim(server, world)
    const all = server.processes()
    kill([pid])
    if (pid === server.pid) {
      await server.exited
      await load.stop()
      await until(() => !all.some(isAlive), 'the end of the workers whose leader was killed')
      server = await startServer(world, data, settings)
    } else {
      const isReplaced = () => !isAlive(pid) && server.processes().length >= all.length
      await until(isReplaced, 'another worker for the one that was killed')
      await load.stop()
    }
    add(losses, await audit(server.port, ledger.slice(from)))
    if (round % 10 === 0 || round === kills) world.step(`${round} kills of ${who}, ${ledger.length} tokens`)
  }

  const sample = Array.from({ length: Math.min(SAMPLE, ledger.length) }, () => random.pick(ledger))
  add(losses, await audit(server.port, sample))
  await server.stop()
  const revoked = ledger.filter(({ revokedAt }) => revokedAt !== undefined).length
  world.expect(
    losses.lost === 0 && losses.resurrected === 0 && ledger.length > 0,
    `kill -9 of ${who}, ${kills} times`,
    `${ledger.length} tokens: ${losses.lost} lost; ${revoked} revocations: ${losses.resurrected} resurrected`,
  )
}

function add(sum: Losses, { lost, resurrected }: Losses): void {
  sum.lost += lost
  sum.resurrected += resurrected
}
