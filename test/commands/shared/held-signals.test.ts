import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { holdSignals } from '../../../src/commands/shared/process.ts'

t.test('Signals: what came before anybody listened is handed to the first who does, as often as it came', async (t) => {
  const before = process.listenerCount('SIGHUP')
  holdSignals()
  process.emit('SIGHUP', 'SIGHUP')
  process.emit('SIGHUP', 'SIGHUP')
  const heard: string[] = []
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    const listener = (name: string) => void heard.push(name)
    process.on(signal, listener)
    t.teardown(() => process.off(signal, listener))
  }
  await turn()
  t.strictSame(heard, ['SIGHUP', 'SIGHUP'])
  t.equal(process.listenerCount('SIGHUP'), before + 1, 'and nobody else listens any more')
})
