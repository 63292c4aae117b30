import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../bench/row.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import type { World } from '../trial.ts'
import type { Server } from '../world/server.ts'
import type { Attack, Attacked } from './attack.ts'
import { percentile, type Served, serveGood } from './good.ts'

/** Starts an attack in a process of its own. `stop` ends it and resolves to its result; `ended` waits until it ends itself. */
export function startAttack({ cleanup }: World, attack: Attack) {
  const child = fork(join(import.meta.dirname, 'attacker.ts'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const kill = () => void child.kill('SIGKILL')
  cleanup.add(kill)
  const ended = once(child, 'message').then(([attacked]) => attacked as Attacked)
  child.once('exit', () => cleanup.delete(kill))
  child.send(attack)
  return {
    ended,
    stop(): Promise<Attacked> {
      if (child.connected) child.send('stop')
      return ended
    },
  }
}

/** The results of rounds with and without an attack, in turns. */
export interface Rounds {
  /** 99th percentiles of the waits of good clients, milliseconds: the medians of the rounds, and the median of their ratios. */
  idle: number
  attacked: number
  ratio: number
  requests: number
  /** The refusals under attack; `refusedIdle`: without one. */
  refused: string[]
  refusedIdle: string[]
  /** The highest resident memory of the server under attack, MiB, and how much that is above the highest before the first attack. */
  memory: number
  grown: number
  attacks: Attacked[]
}

/** Measures what good clients notice of an attack on a port, by default their own, in rounds that are idle and attacked in turns. */
export async function measureAttack(
  world: World,
  server: Server,
  {
    good,
    attack,
    header,
  }: {
    good: { application: Credentials; token: string }
    attack: Omit<Attack, 'port'> & { port?: number }
    header?: string
  },
): Promise<Rounds> {
  const [rounds, seconds] = [world.size(5, 2), world.size(4, 1.5)]
  const serve = () => serveGood(server.port, { ...good, seconds, ...(header && { header }) })
  const [idle, attacked]: [Served[], Served[]] = [[], []]
  const attacks: Attacked[] = []
  const memory = { before: 0, attacked: 0 }
  const watch = async (when: keyof typeof memory) => {
    const watching = setInterval(() => {
      memory[when] = Math.max(memory[when], server.memory().now)
    }, 100)
    const served = await serve()
    clearInterval(watching)
    return served
  }
  await serve()
  for (let round = 0; round < rounds; round++) {
    idle.push(await (round === 0 ? watch('before') : serve()))
    const running = startAttack(world, { port: server.port, ...attack } as Attack)
    await sleep(500)
    attacked.push(await watch('attacked'))
    attacks.push(await running.stop())
    await sleep(1000)
  }
  const p99 = (served: Served[]) => served.map(({ waits }) => percentile(waits, 99))
  const ratios = p99(attacked).map((value, round) => value / (p99(idle)[round] as number))
  return {
    idle: median(p99(idle)),
    attacked: median(p99(attacked)),
    ratio: median(ratios),
    requests: attacked.flatMap(({ waits }) => waits).length,
    refused: attacked.flatMap(({ refused }) => refused),
    refusedIdle: idle.flatMap(({ refused }) => refused),
    memory: memory.attacked,
    grown: memory.attacked - memory.before,
    attacks,
  }
}
