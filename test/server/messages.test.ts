import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { onLeaderMessage, onWorkerMessage, tellLeader, tellWorker } from '../../src/server/messages.ts'
import { oneAtATime } from '../../src/server/one-at-a-time.ts'

t.test('Messages: each goes to the handler of its type, and what is not known is ignored', async (t) => {
  const received: unknown[] = []
  const worker = new EventEmitter() as Worker
  onWorkerMessage(worker, {
    listening: ({ address }) => received.push(address),
    retired: () => received.push('retired'),
  })
  const unknown = [undefined, null, 'retired', 7, {}, { type: 7 }, { type: 'close' }, { type: '__defineGetter__' }]
  for (const message of unknown) worker.emit('message', message)
  t.strictSame(received, [])
  worker.emit('message', { type: 'retired' })
  worker.emit('message', { type: 'listening', address: 'http://127.0.0.1:1', more: 'ignored' })
  t.strictSame(received, ['retired', 'http://127.0.0.1:1'])
})

t.test('Messages: a worker is retired and closed by messages of these types only', async (t) => {
  const received: string[] = []
  const before = process.listeners('message')
  onLeaderMessage({ close: () => received.push('close'), retire: () => received.push('retire') })
  t.teardown(() => {
    for (const listener of process.listeners('message'))
      if (!before.includes(listener)) process.off('message', listener)
  })
  for (const message of ['retire', { type: 'scrape' }, { type: 'retire' }, { type: 'close' }]) {
    process.emit('message', message, undefined)
  }
  t.strictSame(received, ['retire', 'close'])
})

t.test('Messages: a worker that is gone is told nothing', async (t) => {
  const sent: unknown[] = []
  const worker = (isConnected: boolean) =>
    ({ isConnected: () => isConnected, send: (message: unknown) => sent.push(message) }) as unknown as Worker
  tellWorker(worker(false), { type: 'close' })
  t.strictSame(sent, [])
  tellWorker(worker(true), { type: 'close' })
  t.strictSame(sent, [{ type: 'close' }])
})

t.test('Messages: who tells a leader that cannot be reached does not wait for it', async (t) => {
  await new Promise<void>((resolve) => tellLeader({ type: 'pong' }, resolve))
  t.doesNotThrow(() => tellLeader({ type: 'pong' }))
})

t.test('Restarts: never two at a time; all who ask before or during one get one more', async (t) => {
  const ready = Promise.withResolvers<void>()
  const jobs: PromiseWithResolvers<void>[] = []
  const ask = oneAtATime(ready.promise, () => {
    const job = Promise.withResolvers<void>()
    jobs.push(job)
    return job.promise
  })
  for (let n = 0; n < 5; n++) ask()
  await turn()
  t.equal(jobs.length, 0)
  ready.resolve()
  await turn()
  t.equal(jobs.length, 1)
  for (let n = 0; n < 5; n++) ask()
  await turn()
  t.equal(jobs.length, 1)
  jobs[0]?.resolve()
  await turn()
  t.equal(jobs.length, 2)
  jobs[1]?.resolve()
  await turn()
  t.equal(jobs.length, 2)
  ask()
  await turn()
  t.equal(jobs.length, 3)
})

t.test('Restarts: where the start fails there is none', async (t) => {
  const ask = oneAtATime(Promise.reject(new Error('no')), () => t.fail() as never)
  ask()
  await turn()
  t.pass('and no rejection is left unhandled')
})
