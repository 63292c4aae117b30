import { isIPv6 } from 'node:net'
import type { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import type { Config } from '../config.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { hostInUrl, isWildcard } from '../web/address.ts'
import { administer, readCommandConfig } from './shared/administer.ts'
import { addCommand, type JsonOption, print, type Terminal } from './shared/terminal.ts'

/** The port on the browser's machine from which SSH forwards to a Unix socket. */
const FORWARDED_PORT = 8081

export const NO_CONSOLE =
  'There is no console: set ADMIN_ADDRESS, for example to 127.0.0.1:8081, for the server and for the commands.'

export const NO_LINKS =
  'OPERATORS=provider accepts no login links: sign in with the identity provider. While that is down, set OPERATORS=any, restart the server, and run this again.'

/** Hosts that a browser on this machine reaches without forwarding. */
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '::1']

export function addConsole(program: Command, terminal: Terminal): void {
  addCommand(program, 'console', 'print a one-time login link to the console')
    .argument('[name]', 'the name of the operator; optional if there is only one')
    .action(async (given: string | undefined, options: JsonOption) => {
      const { result, words } = await loginLink(terminal, given)
      await print(terminal, options, result, words, 'The link is lost: make another one.')
    })
}

/** Makes a one-time login link, as JSON and in words. Throws OperatorError if there is no console or no such operator. */
export async function loginLink(terminal: Terminal, given: string | undefined) {
  const { base, forward, worksHere } = accessOf(readCommandConfig(terminal))
  const { name, code, endsAt } = await administer(terminal, async ({ operators }) => {
    const name = given ?? onlyOperator(await operators.list())
    return { name, ...(await operators.makeLoginCode(name)) }
  })
  // Browsers do not send the fragment, so the code does not end up in the log of a proxy.
  const url = `${base}/login#${code}`
  const end = timestamp(endsAt)
  const words = [url, '', `It signs in ${name} once, until ${end}.`]
  if (forward && worksHere) {
    words.push(
      'If your browser is on another machine, run this there first. HOST is the machine where you are now:',
      `  ${forward}`,
    )
  } else if (forward) {
    words.unshift(
      'Run this on the machine with your browser. HOST is the machine where you are now:',
      `  ${forward}`,
      '',
      'Then open this link there:',
    )
  }
  return { result: { operator: name, url, ends_at: end, forward: forward ?? null }, words: words.join('\n') }
}

interface ConsoleAccess {
  base: string
  /** The command that forwards a port from the browser's machine, if one is needed. */
  forward?: string
  /** Whether a browser on this machine needs no forwarding. */
  worksHere: boolean
}

/**
 * How to reach the console. Without a proxy the link has an IP address, not `localhost` (RFC 8252 §8.3): that name has two
 * addresses, and another user of the machine could listen on the second.
 */
function accessOf({ ADMIN_ADDRESS: place, ADMIN_URL, ADMIN_TLS_CERT_FILE, OPERATORS }: Config): ConsoleAccess {
  if (!place) throw new OperatorError(NO_CONSOLE)
  if (OPERATORS === 'provider') throw new OperatorError(NO_LINKS)
  if (ADMIN_URL !== undefined) return { base: ADMIN_URL, worksHere: true }
  if ('socket' in place) return forwarded('http', FORWARDED_PORT, place.socket)
  const scheme = ADMIN_TLS_CERT_FILE === undefined ? 'http' : 'https'
  const { port } = place
  if (port === 0) throw new OperatorError('ADMIN_ADDRESS has port 0: use the address in the line "ready" of the log.')
  const loopback = isIPv6(place.host) ? '::1' : '127.0.0.1'
  const host = isWildcard(place.host) ? loopback : place.host
  const address = `${hostInUrl(host)}:${port}`
  const access = forwarded(scheme, port, address)
  return LOCAL_HOSTS.includes(host) ? { ...access, base: `${scheme}://${address}`, worksHere: true } : access
}

function forwarded(scheme: 'http' | 'https', port: number, target: string): ConsoleAccess {
  return { base: `${scheme}://127.0.0.1:${port}`, forward: `ssh -N -L ${port}:${target} HOST`, worksHere: false }
}

function onlyOperator(operators: readonly { name: string }[]): string {
  const [first, second] = operators
  if (!first) throw new OperatorError('There is no operator yet: "operators add NAME --role admin" adds one.')
  if (second) throw new OperatorError(`Choose one of these operators: ${operators.map(({ name }) => name).join(', ')}.`)
  return first.name
}
