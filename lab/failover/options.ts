import { parseCommandLine, UsageError, whole } from '../trial/command-line.ts'
import { type Fault, faults } from './faults.ts'

export const HELP = `Usage: npm run test:failover -- [options] [parts]

Three nodes on three PostgreSQL under Patroni, under load: kills the primary and does worse, and then checks every token
and every revocation that was acknowledged. Without names all parts run, one after another:

${[...faults, { name: 'visibility', title: 'revoke on one node, check on another at once; on one plain PostgreSQL' }]
  .map(({ name, title }) => `  ${name.padEnd(11)} ${title}`)
  .join('\n')}

  --quick           every fault once: a few minutes; every loss still counts
  --kills NUMBER    how often the primary is killed (default: 20; quick: 1)
  --tries NUMBER    how often visibility tries (default: 100000; quick: 5000)
  --ttl SECONDS     Patroni's ttl; below 20 with loop_wait 1 and retry_timeout 2, from 20 on with 2 and 5 (default: 5)
  --haproxy         the third node reaches the cluster through HAProxy
  --seed NUMBER     repeats the choices of a run (default: a new one, printed)
  --keep            keep the temporary folder: databases, logs
  --help            print this help

The exit status is 1 if anything was lost or a part failed, and 2 for a wrong option or if a package is missing.`

export interface Options {
  /** The faults in their order, each as often as it is to happen. */
  rounds: Fault[]
  /** How often visibility tries; 0: it does not run. */
  tries: number
  ttl: number
  withProxy: boolean
  seed: number
  keep: boolean
}

/** Parses the command line; undefined if it asks for help. Throws UsageError if it makes no sense. */
export function parseOptions(args: string[]): Options | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const names = positionals.length > 0 ? positionals : [...faults.map(({ name }) => name), 'visibility']
  const kills = whole('kills', values.kills, values.quick ? 1 : 20)
  const timesOf = ({ name, times }: Fault) => (name === 'kill' ? kills : values.quick ? 1 : times)
  return {
    rounds: names
      .filter((name) => name !== 'visibility')
      .flatMap((name) => {
        const fault = faultOf(name)
        return Array.from({ length: timesOf(fault) }, () => fault)
      }),
    tries: names.includes('visibility') ? whole('tries', values.tries, values.quick ? 5000 : 100_000) : 0,
    ttl: whole('ttl', values.ttl, 5),
    withProxy: values.haproxy,
    seed: whole('seed', values.seed, Date.now() % 1_000_000),
    keep: values.keep,
  }
}

function parse(args: string[]) {
  return parseCommandLine({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      kills: { type: 'string' },
      tries: { type: 'string' },
      ttl: { type: 'string' },
      haproxy: { type: 'boolean', default: false },
      seed: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
}

function faultOf(name: string): Fault {
  const fault = faults.find((one) => one.name === name)
  if (!fault) throw new UsageError(`There is no part ${name}.`)
  return fault
}
