import { isIPv6 } from 'node:net'
import { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import type { AdminPlace, Config } from '../config.ts'
import { hostInUrl } from '../domain/address.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { administer, readCommandConfig } from './shared/administer.ts'
import { type JsonOption, printOnce, type Terminal, withJson } from './shared/terminal.ts'

/** The port that a browser's machine forwards to a socket. */
const FORWARDED_PORT = 8081

/** What a browser takes localhost for. */
const LOCALHOST = ['localhost', '127.0.0.1', '::1']

/** `console [NAME]`: a link with which an operator logs in, once. */
export function consoleCommand(terminal: Terminal): Command {
  return withJson(new Command('console'))
    .description('print a link to the console with which an operator logs in, once')
    .argument('[name]', 'the name of the operator; may be left out where there is one only')
    .action(async (given: string | undefined, options: JsonOption) => {
      const { base, forward, isHere } = entranceOf(readCommandConfig(terminal))
      const { name, code, endsAt } = await administer(terminal, async ({ operators }) => {
        const name = given ?? onlyOne(await operators.list())
        return { name, ...(await operators.makeLoginCode(name)) }
      })
      // In the fragment, which no browser sends: no log of a proxy has it.
      const url = `${base}/login#${code}`
      const end = timestamp(endsAt)
      const words = [url, '', `It signs in ${name} once, until ${end}.`]
      if (forward && isHere) {
        words.push(
          'If your browser is on another machine, run this there first, with the name of this one as HOST:',
          `  ${forward}`,
        )
      } else if (forward) {
        words.unshift(
          'Run this on the machine with your browser, with the name of this one as HOST:',
          `  ${forward}`,
          '',
          'Then open this link there:',
        )
      }
      const result = { operator: name, url, ends_at: end, forward: forward ?? null }
      await printOnce('The link is lost: make another one.', terminal, options, result, words.join('\n'))
    })
}

/** Where the console is for a browser. */
interface Entrance {
  base: string
  /** What makes it be there on the machine of the browser. Undefined: it is there from everywhere. */
  forward?: string
  /** Whether it is there on this machine without that. */
  isHere: boolean
}

function entranceOf({ ADMIN_ADDRESS: place, ADMIN_URL }: Pick<Config, 'ADMIN_ADDRESS' | 'ADMIN_URL'>): Entrance {
  if (!place) {
    throw new OperatorError(
      'There is no console: set ADMIN_ADDRESS, to 127.0.0.1:8081 for example, for the server and for this command.',
    )
  }
  return ADMIN_URL === undefined ? localEntrance(place) : { base: ADMIN_URL, isHere: true }
}

/** Of a listener that no proxy is in front of. Without TLS all browsers that keep its cookie at all keep it for localhost. */
function localEntrance(place: AdminPlace): Entrance {
  if ('socket' in place) return localhost(FORWARDED_PORT, place.socket, false)
  const { port } = place
  if (port === 0)
    throw new OperatorError('ADMIN_ADDRESS has the port 0: the address is in the line "ready" of the log.')
  const host = reachable(place.host)
  return localhost(port, `${hostInUrl(host)}:${port}`, LOCALHOST.includes(host))
}

function localhost(port: number, target: string, isHere: boolean): Entrance {
  return { base: `http://localhost:${port}`, forward: `ssh -N -L ${port}:${target} HOST`, isHere }
}

/** Where one that listens on all addresses is reached from its own machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host
}

function onlyOne(operators: readonly { name: string }[]): string {
  const [first, second] = operators
  if (!first) throw new OperatorError('There is no operator yet: "operators add NAME --role admin" adds one.')
  if (second) throw new OperatorError(`Name one of them: ${operators.map(({ name }) => name).join(', ')}.`)
  return first.name
}
