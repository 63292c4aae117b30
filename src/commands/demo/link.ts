import type { Administration } from '../../administration/administration.ts'
import type { Terminal } from '../shared/terminal.ts'

const OPERATOR = 'demo'

/** A one-time login link to the console. Adds the operator first if it is missing: it can be removed in the console. */
export async function makeLink({ operators }: Administration, console: string): Promise<string> {
  const isThere = (await operators.list()).some(({ name }) => name === OPERATOR)
  if (!isThere) await operators.add(OPERATOR, 'admin')
  const { code } = await operators.makeLoginCode(OPERATOR)
  return `${console}/login#${code}`
}

/** Prints a new link each time Enter is pressed. Does nothing if stdin is not a terminal. */
export async function printLinkOnEnter({ stdin, stdout }: Terminal, link: () => Promise<string>): Promise<void> {
  if (!stdin.isTTY) return
  for await (const _line of stdin)
    stdout.write(
      `Another link, for one sign-in within 10 minutes. Unused earlier links still work for 10 minutes each.\n\n  ${await link()}\n\n`,
    )
}
