import { once } from 'node:events'
import { openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { register } from '../support/register.ts'
import { runJson } from '../support/run.ts'
import { start } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** Runs a command whose standard output is a file descriptor, or is closed before it comes. */
async function runInto(t: Test, args: string[], env: NodeJS.ProcessEnv, stdout: number | 'closed') {
  const out = stdout === 'closed' ? 'pipe' : stdout
  const child = start(t, args, env, { stdio: ['ignore', out, 'pipe'] })
  child.stdout?.destroy()
  const [err, [status]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'exit')])
  return { err, status }
}

t.test('Output: a reader that has seen enough ends a list without a word, with the status of SIGPIPE', async (t) => {
  const { env } = temporaryDatabase(t)
  const { client_id } = await register(env)
  for (const args of [
    ['apps', 'list'],
    ['apps', 'show', client_id],
    ['secrets', 'list', client_id],
    ['suites', 'list'],
  ]) {
    t.strictSame(await runInto(t, args, env, 'closed'), { err: '', status: 141 })
  }
})

t.test('Output: where the result of a change cannot be written, it is said that the change was made', async (t) => {
  const { env } = temporaryDatabase(t)
  const { client_id } = await register(env)
  const silent = { ...env, LOG_LEVEL: 'silent' }
  const rotate = ['secrets', 'rotate', client_id]
  const full = await runInto(t, rotate, silent, openSync('/dev/full', 'w'))
  t.equal(full.status, 1)
  t.match(full.err, /^What was asked for is done\. The output could not be written: ENOSPC/)
  const lost = `The new secret of ${client_id} is lost: "secrets rotate ${client_id}" makes another one`
  t.match(full.err, lost)
  const closed = await runInto(t, rotate, silent, 'closed')
  t.equal(closed.status, 1)
  t.match(closed.err, /^What was asked for is done\. The output could not be written: .*EPIPE/)
  t.equal((await runJson(['secrets', 'list', client_id], { env })).length, 3)
  const others = [
    ['suites', 'register', 'other', '--name', 'Other'],
    ['apps', 'register', '--name', 'Other', '--developer-email', 'a@b.example'],
  ]
  for (const args of others) {
    t.match((await runInto(t, args, silent, 'closed')).err, /The new secret of \S+ is lost: "secrets rotate \S+" makes/)
  }
})

t.test('Output: where a list cannot be written, it is said why', async (t) => {
  const { env } = temporaryDatabase(t)
  await register(env)
  const { err, status } = await runInto(t, ['apps', 'list'], env, openSync('/dev/full', 'w'))
  t.equal(status, 1)
  t.match(err, /^The output could not be written: ENOSPC/)
})
