import { Readable } from 'node:stream'
import { main } from '../../src/commands/program.ts'

/** Runs a command as the shell would, in this process. Of standard error the events that it logged are apart. */
export async function run(
  args: string[],
  { env = {}, stdin = '', isTTY = false }: { env?: NodeJS.ProcessEnv; stdin?: string | Buffer; isTTY?: boolean } = {},
) {
  let out = ''
  let err = ''
  const status = await main(args, {
    env,
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: {
      write(text, done) {
        out += text
        done?.()
      },
    },
    stderr: { write: (text) => (err += text), isTTY },
  })
  const isEvent = (line: string) => line.startsWith('{"level"')
  const lines = err.split(/(?<=\n)/)
  return {
    status,
    out,
    err: lines.filter((line) => !isEvent(line)).join(''),
    events: lines.filter(isEvent).map((line) => JSON.parse(line)),
  }
}

/** Like `run`, for a command that must succeed, with `--json`: what it printed. */
export async function runJson(args: string[], options: Parameters<typeof run>[1]) {
  const { status, out, err } = await run([...args, '--json'], options)
  if (status !== 0) throw new Error(err)
  return JSON.parse(out)
}
