import type { ChildProcess } from 'node:child_process'
import { processTree } from '../../bench/world/proc-stat.ts'
import { writePatroniConfiguration } from './configuration.ts'
import { inFolder, type Layout, PORTS } from './layout.ts'
import { postgresProcesses, signal, startProgram } from './process.ts'

export type Member = ReturnType<typeof createMember>

/** One PostgreSQL with its Patroni. It does not run yet. */
export function createMember(layout: Layout, { name, address }: Layout['members'][number]) {
  const configuration = writePatroniConfiguration(layout, { name, address })
  const dataDirectory = inFolder(layout, name)
  let patroni: ChildProcess | undefined

  const patroniProcesses = () => (patroni?.pid && patroni.exitCode === null ? processTree(patroni.pid) : [])
  const postgres = () => postgresProcesses(dataDirectory)

  return {
    name,
    address,
    configuration,
    /** Patroni's REST interface. */
    api: `http://${address}:${PORTS.patroni}`,
    postgres,
    start(): void {
      patroni = startProgram(layout, name, 'patroni', [configuration])
    },
    /** Kills PostgreSQL and Patroni at once, as when the machine loses its power. */
    kill: () => signal([...patroniProcesses(), ...postgres()], 'SIGKILL'),
    killPatroni: () => signal(patroniProcesses(), 'SIGKILL'),
    /** Stops PostgreSQL, but not Patroni. Its connections stay open. */
    freeze: () => signal(postgres(), 'SIGSTOP'),
    thaw: () => signal(postgres(), 'SIGCONT'),
  }
}
