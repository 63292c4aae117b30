import { spawn } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createLogStream } from '../../src/telemetry/log-stream.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

function createFile(t: Test) {
  const file = join(temporaryFolder(t), 'log')
  const fd = openSync(file, 'a')
  t.teardown(() => closeSync(fd))
  return { fd, text: () => readFileSync(file, 'utf8') }
}

const flushed = (stream: ReturnType<typeof createLogStream>) => new Promise<void>((resolve) => stream.flush(resolve))

t.test('Log stream: lines are complete and in order, long ones and those of any script', async (t) => {
  const { fd, text } = createFile(t)
  const stream = createLogStream(fd, { chunk: 64 })
  const lines = Array.from({ length: 200 }, (_, n) => `${n} ${'✓ü'.repeat(n % 40)}\n`)
  for (const line of lines) stream.write(line)
  await flushed(stream)
  t.equal(text(), lines.join(''))
  await flushed(stream)
  t.equal(text(), lines.join(''), 'and once')
})

t.test('Log stream: a line is written soon without a flush, and at once at the exit', async (t) => {
  const { fd, text } = createFile(t)
  const stream = createLogStream(fd)
  stream.write('one\n')
  t.equal(text(), '')
  await until(() => text() !== '')
  // The bytes are in the file before the stream has heard so, and while it writes flushSync does nothing.
  await flushed(stream)
  stream.write('two\n')
  stream.flushSync()
  t.equal(text(), 'one\ntwo\n')
  stream.flushSync()
  t.equal(text(), 'one\ntwo\n')
})

t.test('Log stream: on a full device lines are dropped', { skip: !existsSync('/dev/full') }, async (t) => {
  const fd = openSync('/dev/full', 'a')
  t.teardown(() => closeSync(fd))
  const stream = createLogStream(fd)
  stream.write('lost\n')
  await flushed(stream)
  stream.write('lost too\n')
  t.doesNotThrow(() => stream.flushSync())
})

t.test(
  'Log stream: a slow reader gets every line; while it reads none, 8 MiB are buffered and the rest is dropped',
  {
    skip: process.platform !== 'linux',
  },
  async (t) => {
    // A pipe that does not block answers EAGAIN when it is full.
    const folder = temporaryFolder(t)
    const mkfifo = spawn('mkfifo', [join(folder, 'pipe')])
    await new Promise((resolve) => mkfifo.once('exit', resolve))
    const cat = spawn('sh', ['-c', `exec 3<>${folder}/pipe; echo open; read go; exec cat <&3`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    t.teardown(() => cat.kill('SIGKILL'))
    let out = ''
    cat.stdout.setEncoding('utf8').on('data', (chunk) => (out += chunk))
    await until(() => out !== '')

    const fd = openSync(join(folder, 'pipe'), constants.O_WRONLY | constants.O_NONBLOCK)
    t.teardown(() => closeSync(fd))

    const stream = createLogStream(fd)
    const line = `${'x'.repeat(1023)}\n`
    for (let n = 0; n < 20 * 1024; n++) stream.write(line)
    // Nothing tells when the pipe is full and the stream waits to retry.
    await sleep(50)
    stream.flushSync()
    cat.stdin.write('go\n')
    await flushed(stream)
    stream.write('last\n')
    await flushed(stream)
    await until(() => out.endsWith('last\n'))
    const lines = out.split('\n').slice(1, -2)
    t.ok(lines.length > 8 * 1024 - 64 && lines.length < 9 * 1024, `${lines.length} lines were buffered`)
    t.ok(lines.every((text) => text.length === 1023))
  },
)
