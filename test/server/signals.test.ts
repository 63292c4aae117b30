import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../support/until.ts'

const SIGNALS = new URL('../../src/server/signals.ts', import.meta.url).href

/** A process that handles signals with this function and then flushes for a second; it prints what happens. */
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

t.test('Signals: a signal that is repeated at once, as npm does with Ctrl-C, is ignored', async (t) => {
  const { child, exited, said, out } = await startClosing(t, "console.log('closing'); await sleep(300)")
  child.kill('SIGINT')
  await said('closing')
  await sleep(5)
  child.kill('SIGINT')
  t.strictSame(await exited, [0, null])
  t.equal(out(), 'started\nclosing\n')
})

t.test('Signals: the same signal two seconds later ends the process at once', async (t) => {
  const { child, exited, said } = await startClosing(t, "console.log('closing'); await sleep(60_000)")
  child.kill('SIGINT')
  await said('closing')
  await sleep(2000)
  child.kill('SIGINT')
  await said('shutdown cut short The end was asked for a second time.')
  t.strictSame(await exited, [1, null])
})

t.test('Signals: another signal after everything is closed is ignored', async (t) => {
  const { child, exited, said, out } = await startClosing(t, "console.log('closed')")
  child.kill('SIGINT')
  await said('closed')
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
  t.equal(out(), 'started\nclosed\n')
})
