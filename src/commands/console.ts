import { isIPv6 } from 'node:net'
import { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import type { AdminPlace, Config } from '../config.ts'
import { hostInUrl, isLocalHost } from '../domain/address.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { administer, readCommandConfig } from './shared/administer.ts'
import { type JsonOption, printOnce, type Terminal, withJson } from './shared/terminal.ts'

/** The port that a browser's machine forwards to a socket. */
const FORWARDED_PORT = 8081

/** `console [NAME]`: a link with which an operator logs in, once. */
export function consoleCommand(terminal: Terminal): Command {
  return withJson(new Command('console'))
    .description('print a link to the console with which an operator logs in, once')
    .argument('[name]', 'the name of the operator; may be left out where there is one only')
    .action(async (given: string | undefined, options: JsonOption) => {
      const { base, forward } = entranceOf(readCommandConfig(terminal))
      const { name, code, endsAt } = await administer(terminal, async ({ operators }) => {
        const name = given ?? onlyOne(await operators.list())
        return { name, ...(await operators.makeLoginCode(name)) }
      })
      // In the fragment, which no browser sends: no log of a proxy has it.
      const url = `${base}/login#${code}`
      const end = timestamp(endsAt)
      const words = [url, '', `For one login of ${name}, until ${end}.`]
      if (forward)
        words.push(
          'With a browser on another machine run this there first, with the name of this one as HOST:',
          `  ${forward}`,
        )
      const result = { operator: name, url, ends_at: end, forward: forward ?? null }
      await printOnce('The link is lost: make another one.', terminal, options, result, words.join('\n'))
    })
}

/** Where the console is: for a browser, and the command that makes it be there for one on another machine. */
function entranceOf({ ADMIN_ADDRESS: place, ADMIN_URL }: Pick<Config, 'ADMIN_ADDRESS' | 'ADMIN_URL'>): {
  base: string
  forward?: string
} {
  if (!place) {
    throw new OperatorError(
      'There is no console: set ADMIN_ADDRESS, to 127.0.0.1:8081 for example, for the server and for this command.',
    )
  }
  if (ADMIN_URL !== undefined) return { base: ADMIN_URL }
  const { base, port, target } = localEntrance(place)
  return { base, forward: `ssh -N -L ${port}:${target} HOST` }
}

/** Of a listener that no proxy is in front of. Its cookie needs TLS, or a browser that is on the same machine, or seems to be. */
function localEntrance(place: AdminPlace): { base: string; port: number; target: string } {
  if ('socket' in place)
    return { base: `http://localhost:${FORWARDED_PORT}`, port: FORWARDED_PORT, target: place.socket }
  const { port } = place
  if (port === 0)
    throw new OperatorError('ADMIN_ADDRESS has the port 0: the address is in the line "ready" of the log.')
  const host = reachable(place.host)
  return {
    base: `http://${isLocalHost(host) ? hostInUrl(host) : 'localhost'}:${port}`,
    port,
    target: `${hostInUrl(host)}:${port}`,
  }
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
