import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { close, open, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endProcess, untilFilesRest } from '../../src/server/end-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const SIGNALS = new URL('../../src/server/signals.ts', import.meta.url).href

/** Says what it is at, and goes on when the test says so. */
const WAIT = (what: string) => `{ console.log('${what}'); await once(process.stdin, 'data') }`

for (const { rule, repeat, closing = '', flushing = '', second, said, ends } of [
  {
    rule: 'one that is repeated at once, as npm does with Ctrl-C, is ignored',
    repeat: 1e9,
    closing: WAIT('busy'),
    second: 'SIGINT',
    said: 'busy\nSIGINT\n',
    ends: [0, null],
  },
  {
    rule: 'the same one some time later ends the process at once',
    repeat: 0,
    closing: WAIT('busy'),
    second: 'SIGINT',
    said: 'busy\nshutdown cut short The end was asked for a second time.\nSIGINT\n',
    ends: [1, null],
  },
  {
    rule: 'another one after everything is closed is ignored',
    repeat: 0,
    flushing: WAIT('busy'),
    second: 'SIGTERM',
    said: 'busy\nSIGTERM\n',
    ends: [0, null],
  },
] as const) {
  t.test(`Signals: ${rule}`, async (t) => {
    const program = `
      import { once } from 'node:events'
      import { closeOnSignal } from '${SIGNALS}'
      const observe = ({ type, err }) => console.log(type, err.message)
      closeOnSignal({ observe, async flush() { ${flushing} } }, async () => { ${closing} }, { repeat: ${repeat} })
      let count = 0
      for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => count++ && console.log(signal))
      process.stdin.resume()
      console.log('started')`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => (out += chunk))
    const closed = once(child, 'close')
    await until(() => out === 'started\n')
    child.kill('SIGINT')
    await until(() => out === 'started\nbusy\n')
    child.kill(second)
    await until(() => out.includes(second))
    child.stdin.on('error', () => {}).write('go on')
    t.strictSame(await closed, ends)
    t.equal(out, `started\n${said}`)
  })
}

const skip = process.platform !== 'linux' && 'needs named pipes'

t.test('End: a process exits, or is killed where an exit would wait for a file that hangs', { skip }, async (t) => {
  const ends: unknown[] = []
  const self = {
    pid: 7,
    exit: ((status) => ends.push(status)) as typeof process.exit,
    kill: (pid: number, signal?: string | number) => {
      ends.push([pid, signal])
      return true as const
    },
  }
  await untilFilesRest()
  endProcess(3, self)

  const pipe = join(temporaryFolder(t), 'pipe')
  spawnSync('mkfifo', [pipe])
  // Nobody writes to it yet.
  open(pipe, (_, fd) => close(fd))
  endProcess(0, self)
  t.strictSame(ends, [3, [7, 'SIGKILL']])
  close(openSync(pipe, 'w'))
  await untilFilesRest()
})
