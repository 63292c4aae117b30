import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createTelemetry } from '../../src/server/telemetry.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const refusal = {
  type: 'authentication refused',
  reason: 'wrong secret',
  clientId: 'a',
  status: 401,
  endpoint: '/v1/oauth/accesstoken',
  requestId: 'r',
  remoteAddress: '192.0.2.1',
} as const

t.test('Telemetry: very many refusals of one address are counted, unless FAILURE_LIMIT is off', async (t) => {
  for (const [options, lines, last] of [
    [{}, 101, 'refusals not logged'],
    [{ limitRefusals: false }, 150, 'authentication refused'],
  ] as const) {
    const destination = join(temporaryFolder(t), 'log')
    const { observe, flush } = await createTelemetry('info', { isTTY: false, destination, ...options })
    for (let n = 0; n < 150; n++) observe(refusal)
    await flush()
    const logged = readFileSync(destination, 'utf8').trimEnd().split('\n')
    t.equal(logged.length, lines)
    t.equal(JSON.parse(logged.at(-1) as string).msg, last)
  }
})

t.test('Telemetry: lines for which there is no room are counted, where anything is', async (t) => {
  for (const counts of [true, false]) {
    // A disk that is always full.
    const { observe, flush, numbers } = await createTelemetry('info', {
      isTTY: false,
      destination: '/dev/full',
      counts,
    })
    observe(refusal)
    observe(refusal)
    await flush()
    const [dropped] = numbers?.seriesOf('log_lines_dropped_total') ?? []
    t.equal(dropped && numbers?.valueAt(dropped.at), counts ? 2 : undefined)
  }
})
