import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
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

t.test('Log stream: what commands a terminal, or deceives its reader, is escaped', async (t) => {
  const { fd, text } = createFile(t)
  const stream = createLogStream(fd, { chunk: 64 })
  stream.write('{"name":"ü \u0085\u009b31m \u202e\u2066gpj\u200f.exe\u2028"}\n')
  await flushed(stream)
  t.equal(text(), String.raw`{"name":"ü \u0085\u009b31m \u202e\u2066gpj\u200f.exe\u2028"}${'\n'}`)
  t.equal(JSON.parse(text()).name, 'ü \u0085\u009b31m \u202e\u2066gpj\u200f.exe\u2028')
  stream.write('{"name":"a\x7fb"}\n')
  await flushed(stream)
  t.match(text(), String.raw`{"name":"a\u007fb"}`)
})

const LINUX = { skip: process.platform !== 'linux' && 'needs named pipes' }

function makePipe(t: Test): string {
  const file = join(temporaryFolder(t), 'pipe')
  spawnSync('mkfifo', [file])
  return file
}

/** A pipe that is full after some 64 KiB. Writes do not block. */
function createPipe(t: Test) {
  const file = makePipe(t)
  const openReader = () => openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const readers = [openReader()]
  const fd = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK)
  t.teardown(() => [...readers, fd].map((open) => closeSync(open)))

  let text = ''
  const piece = Buffer.alloc(1024 * 1024)
  return {
    fd,
    /** What is in the pipe by now, and was before. */
    read(): string {
      try {
        text += piece.toString('utf8', 0, readSync(readers[0] as number, piece))
      } catch {}
      return text
    },
    /** From now on writes fail. */
    closeReader: () => closeSync(readers.pop() as number),
    openReader: () => readers.push(openReader()),
  }
}

/** A reader of a pipe that waits for `start`. */
async function createSlowReader(t: Test) {
  const file = makePipe(t)
  const cat = spawn('sh', ['-c', `exec 3<>${file}; echo open; read go; exec cat <&3`])
  t.teardown(() => cat.kill('SIGKILL'))
  let out = ''
  cat.stdout.setEncoding('utf8').on('data', (chunk) => (out += chunk))
  await until(() => out === 'open\n')
  out = ''
  const fd = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(fd))
  return { fd, read: () => out, start: () => void cat.stdin.write('go\n') }
}

const lineOnDropped = (count: number) => `dropped ${count}\n`

/** Writes lines of 1 KiB, droppable ones first, before a reader starts. Resolves to what it gets. */
async function readLate(t: Test, { droppable, other }: { droppable: number; other: number }) {
  const { fd, read, start } = await createSlowReader(t)
  const isDroppable = (line: string) => line.startsWith('droppable')
  const stream = createLogStream(fd, droppable > 0 ? { isDroppable, lineOnDropped } : { lineOnDropped })
  const line = (kind: string) => `${kind.padEnd(1023, 'x')}\n`
  for (let n = 0; n < droppable; n++) stream.write(line('droppable'))
  for (let n = 0; n < other; n++) stream.write(line('other'))
  // While a write is under way it does nothing, for that may never end.
  stream.flushSync()
  start()
  await flushed(stream)
  stream.write('last\n')
  await flushed(stream)
  await until(() => read().endsWith('last\n'))
  const lines = read().trimEnd().split('\n')
  const count = (kind: string) => lines.filter((text) => text === line(kind).trimEnd()).length
  const rest = lines.filter((text) => text.length < 1023 || !/^(droppable|other)x/.test(text))
  return { droppable: count('droppable'), other: count('other'), rest: rest.sort() }
}

t.test('Log stream: a slow reader has 8 MiB buffered, and 16 MiB of lines that are not droppable', LINUX, async (t) => {
  const both = await readLate(t, { droppable: 10 * 1024, other: 6 * 1024 })
  t.ok(both.droppable > 8 * 1024 - 64 && both.droppable < 9 * 1024, `${both.droppable} droppable lines were buffered`)
  t.strictSame([both.other, ...both.rest], [6 * 1024, `dropped ${10 * 1024 - both.droppable}`, 'last'])
  const { other, rest } = await readLate(t, { droppable: 0, other: 20 * 1024 })
  t.ok(other > 16 * 1024 - 64 && other < 17 * 1024, `${other} lines were buffered`)
  t.strictSame(rest, [`dropped ${20 * 1024 - other}`, 'last'])
})

t.test('Log stream: a line that is cut by a failure is finished when something can be written', LINUX, async (t) => {
  const { fd, read, closeReader, openReader } = createPipe(t)
  const stream = createLogStream(fd, { chunk: 10_000, lineOnDropped })
  const line = (n: number) => `${`${n} `.padEnd(99, 'x')}\n`
  for (let n = 0; n < 1000; n++) stream.write(line(n))
  const all = flushed(stream)
  // After a few writes it is full: 64 KiB are in it, which end in the middle of a line. Each of these waits as long as one.
  for (let n = 0; n < 100; n++) await stat('/')
  closeReader()
  await all
  stream.write('lost too\n')
  await flushed(stream)

  openReader()
  await until(() => !read().endsWith('\n'))
  stream.write('first\n')
  await flushed(stream)
  await until(() => read().includes('dropped'))
  const lines = read().split('\n').slice(0, -1)
  const written = lines.length - 2
  const expected = Array.from({ length: written }, (_, n) => line(n).slice(0, -1))
  t.strictSame(lines.slice(0, written), expected)
  t.ok(written > 600 && written < 700)
  t.strictSame(lines.slice(written), ['first', `dropped ${1000 - written + 1}`])
})

t.test('Log stream: dropped lines are also reported at the end', LINUX, async (t) => {
  const { fd, read, closeReader, openReader } = createPipe(t)
  async function loseOne(stream: ReturnType<typeof createLogStream>) {
    closeReader()
    stream.write('lost\n')
    await flushed(stream)
    openReader()
  }
  const stream = createLogStream(fd, { lineOnDropped })
  await loseOne(stream)
  await flushed(stream)
  t.equal(read(), 'dropped 1\n')

  await loseOne(stream)
  stream.write('kept\n')
  stream.flushSync()
  t.equal(read(), 'dropped 1\nkept\ndropped 1\n')

  const plain = createLogStream(fd)
  await loseOne(plain)
  plain.write('kept\n')
  plain.flushSync()
  t.equal(read(), 'dropped 1\nkept\ndropped 1\nkept\n', 'by a stream that has words for it')
})
