import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../support/until.ts'

const SIGNALS = new URL('../../src/server/signals.ts', import.meta.url).href

/** A process that does this when a signal comes, and after it flushes for a second; it says what happens. */
async function startClosing(t: Test, close: string) {
  const program = `
    import { closeOnSignal } from '${SIGNALS}'
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    const observe = ({ type, err }) => console.log(type, err.message)
    closeOnSignal({ observe, flush: () => sleep(1000) }, async () => { ${close} })
    setInterval(() => {}, 1000)
    console.log('started')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => (out += chunk))
  const exited = once(child, 'exit')
  const said = (text: string) => until(() => out.includes(text))
  await said('started')
  return { child, exited, said, out: () => out }
}

t.test('Signals: the same one again at once, as npm hands on a Ctrl-C, is the same wish', async (t) => {
  const { child, exited, said, out } = await startClosing(t, "console.log('closing'); await sleep(300)")
  child.kill('SIGINT')
  await said('closing')
  await sleep(5)
  child.kill('SIGINT')
  t.strictSame(await exited, [0, null])
  t.equal(out(), 'started\nclosing\n')
})

t.test('Signals: the same one two seconds later ends the process at once', async (t) => {
  const { child, exited, said } = await startClosing(t, "console.log('closing'); await sleep(60_000)")
  child.kill('SIGINT')
  await said('closing')
  await sleep(2000)
  child.kill('SIGINT')
  await said('shutdown cut short The end was asked for a second time.')
  t.strictSame(await exited, [1, null])
})

t.test('Signals: another one when all is closed changes nothing', async (t) => {
  const { child, exited, said, out } = await startClosing(t, "console.log('closed')")
  child.kill('SIGINT')
  await said('closed')
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
  t.equal(out(), 'started\nclosed\n')
})
