import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { query } from '../../support/postgres/databases.ts'
import { isAlive } from '../../support/postgres/processes.ts'
import { until } from '../../support/until.ts'

/** Runs a program with the modules of the test servers. Resolves to the process and its first line of output. */
async function runProgram(t: Test, program: string): Promise<[child: ChildProcess, line: string]> {
  const support = join(import.meta.dirname, '../../support/postgres')
  const modules = `
    const { runPostgres } = await import(${JSON.stringify(join(support, 'server.ts'))})
    const { sharedServer } = await import(${JSON.stringify(join(support, 'shared.ts'))})`
  const text = `${modules}; ${program}; setInterval(() => {}, 1000)`
  const { TAP: _, ...env } = process.env
  const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio, env })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  return [child, line]
}

t.test('A test server: it and its data are gone when its parent process ends, even if killed', async (t) => {
  const tell = 'console.log(JSON.stringify({ pid: server.pid(), data: server.data }))'
  const [child, line] = await runProgram(t, `const server = await runPostgres(); server.suspend(); ${tell}`)
  const { pid, data } = JSON.parse(line)
  t.ok(isAlive(pid))
  child.kill('SIGKILL')
  await until(() => !isAlive(pid) && !existsSync(data))
})

t.test('A test server: the shared one ends with its test run and leaves nothing behind', async (t) => {
  const program = 'const urls = await Promise.all([sharedServer(), sharedServer()]); console.log(urls.join(" "))'
  const [child, line] = await runProgram(t, program)
  const [url, again] = line.split(' ') as [string, string]
  t.equal(again, url)
  const data = (await query(url, 'SHOW data_directory'))[0].data_directory
  const files = () => globSync(join(tmpdir(), `token-server-tests-*-${child.pid}-*`))
  t.ok(files().length > 0)
  child.kill('SIGKILL')
  await until(() => !existsSync(data) && files().length === 0)
  await t.rejects(query(url, 'SELECT'), { code: 'ECONNREFUSED' })
})
