import type { Administration } from '../../administration/administration.ts'
import type { Terminal } from '../shared/terminal.ts'
import { OPERATOR } from './world.ts'

/** A link that signs in to the console, once. */
export async function makeLink({ operators }: Administration, console: string): Promise<string> {
  const { code } = await operators.makeLoginCode(OPERATOR)
  return `${console}/login#${code}`
}

/** Prints another link whenever Enter is pressed, where there is somebody to press it. */
export async function linkAtEnter({ stdin, stdout }: Terminal, link: () => Promise<string>): Promise<void> {
  if (!stdin.isTTY) return
  for await (const _line of stdin) stdout.write(`  ${await link()}\n\n`)
}
