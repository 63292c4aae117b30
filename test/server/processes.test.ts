import { spawn, spawnSync } from 'node:child_process'
import type { Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { close, open, openSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { oneAtATime } from '../../src/server/leader.ts'
import { onMessage, sendToLeader, sendToWorker, type ToLeader } from '../../src/server/messages.ts'
import { endProcess, waitForFileOperations } from '../../src/server/signals.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

t.test('Messages: each goes to the handler of its type; unknown ones are ignored', async (t) => {
  const received: unknown[] = []
  const worker = new EventEmitter() as Worker
  onMessage<ToLeader>(worker, {
    listening: ({ address }) => received.push(address),
    retired: () => received.push('retired'),
  })
  const unknown = [undefined, null, 'retired', 7, {}, { type: 7 }, { type: 'close' }, { type: '__defineGetter__' }]
  const known = [{ type: 'retired' }, { type: 'listening', address: 'http://127.0.0.1:1', more: 'ignored' }]
  for (const message of [...unknown, ...known]) worker.emit('message', message)
  t.strictSame(received, ['retired', 'http://127.0.0.1:1'])
})

t.test('Messages: nothing is sent to a worker that is gone, and sending to a leader does not block', async (t) => {
  const sent: unknown[] = []
  for (const isConnected of [false, true]) {
    const worker = { isConnected: () => isConnected, send: (message: unknown) => sent.push([isConnected, message]) }
    sendToWorker(worker as unknown as Worker, { type: 'close' })
  }
  t.strictSame(sent, [[true, { type: 'close' }]])
  await new Promise<void>((resolve) => sendToLeader({ type: 'pong' }, resolve))
  t.doesNotThrow(() => sendToLeader({ type: 'pong' }))
})

t.test('Restarts: one at a time; all requests before or during one cause one more', async (t) => {
  const ready = Promise.withResolvers<void>()
  const jobs: PromiseWithResolvers<void>[] = []
  const ask = oneAtATime(ready.promise, () => {
    const job = Promise.withResolvers<void>()
    jobs.push(job)
    return job.promise
  })
  const askFiveTimes = () => Array.from({ length: 5 }, ask)
  for (const [step, jobsThen] of [
    [askFiveTimes, 0],
    [ready.resolve, 1],
    [askFiveTimes, 1],
    [() => jobs[0]?.resolve(), 2],
    [() => jobs[1]?.resolve(), 2],
    [ask, 3],
  ] as const) {
    step()
    await turn()
    t.equal(jobs.length, jobsThen)
  }
})

t.test('Restarts: if the start fails there is none', async (t) => {
  const ask = oneAtATime(Promise.reject(new Error('no')), () => t.fail() as never)
  ask()
  await turn()
  t.pass('and no rejection is left unhandled')
})

const SIGNALS = new URL('../../src/server/signals.ts', import.meta.url).href

/** Prints that it is busy, and waits for the test. */
const WAIT = `{ console.log('busy'); await once(process.stdin, 'data') }`
const CUT_SHORT = 'shutdown cut short The shutdown was requested a second time.\n'

const ONCE = { repeat: 1e9, closing: WAIT, flushing: '', second: 'SIGINT', said: '', status: 0 } as const
const AFTER = { ...ONCE, repeat: 0, closing: '', flushing: WAIT, second: 'SIGTERM' } as const
for (const [rule, { repeat, closing, flushing, second, said, status }] of [
  ['one that is repeated at once, as npm does with Ctrl-C, is ignored', ONCE],
  ['the same one some time later ends the process at once', { ...ONCE, repeat: 0, said: CUT_SHORT, status: 1 }],
  ['another one after everything is closed is ignored', AFTER],
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
    const stdio: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit']
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio })
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
    t.strictSame(await closed, [status, null])
    t.equal(out, `started\nbusy\n${said}${second}\n`)
  })
}

const skip = process.platform !== 'linux' && 'needs named pipes'

t.test('End: a process exits, or is killed if an exit would wait for a file that hangs', { skip }, async (t) => {
  const ends: unknown[] = []
  const self = {
    pid: 7,
    exit: ((status) => ends.push(status)) as typeof process.exit,
    kill: (pid: number, signal?: string | number) => Boolean(ends.push([pid, signal])) as true,
  }
  await waitForFileOperations()
  endProcess(3, self)

  const pipe = join(temporaryFolder(t), 'pipe')
  spawnSync('mkfifo', [pipe])
  // Nobody writes to it yet.
  open(pipe, (_, fd) => close(fd))
  endProcess(0, self)
  t.strictSame(ends, [3, [7, 'SIGKILL']])
  close(openSync(pipe, 'w'))
  await waitForFileOperations()
})
