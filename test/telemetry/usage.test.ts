import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import type { ClientCounts } from '../../src/domain/usage.ts'
import { createRefusals } from '../../src/telemetry/refusals.ts'
import { createUsage } from '../../src/telemetry/usage.ts'
import { START } from '../support/world.ts'

const asked = { status: 401, endpoint: '/v1/oauth/accesstoken', remoteAddress: '192.0.2.1', requestId: 'r1' }
const issued: Event = { type: 'token issued', clientId: 'a', tokenId: 't', secretId: 1, ...asked }
const wrongSecret = { type: 'authentication refused', reason: 'wrong secret', clientId: 'a', ...asked } as const
const expired = { type: 'token refused', reason: 'expired token' } as const
const ofAToken = { ...expired, suite: 'store', tokenId: undefined, ...asked }
const malformed = { type: 'request refused', reason: 'field missing', field: 'token', ...asked } as const

/** Usage, and what its next flush gives to a store: by client id, tokens, checks and refusals. */
function createWorld() {
  const now = () => START
  const usage = createUsage({ now })
  const refusals = createRefusals({ now, count: usage.countRefusal })
  let fails = (_step: readonly ClientCounts[]) => false

  async function flushed(failing = fails): Promise<Record<string, number[]>> {
    fails = failing
    const stored: Record<string, number[]> = {}
    await usage.flush({
      async addUsage(step, at) {
        if (fails(step)) throw new Error('full')
        t.equal(at, START)
        for (const { clientId, tokens, checks, refusals } of step) stored[clientId] = [tokens, checks, refusals]
      },
    })
    return stored
  }

  function see(...events: Event[]): void {
    for (const { observe } of [usage, refusals]) events.forEach(observe)
  }

  return { ...usage, see, flushed }
}

t.test('Usage: tokens, checks and refusals count for the application, the suite, and all together', async (t) => {
  const { see, countCheck, flushed } = createWorld()
  see(issued, issued)
  countCheck('a', 'store')
  countCheck('a', undefined)
  see({ ...ofAToken, clientId: 'a' }, { ...ofAToken, clientId: undefined }, wrongSecret)
  see({ type: 'quota refusal', ...asked, clientId: 'a' }, { ...malformed, clientId: 'store', suite: 'store' })
  t.strictSame(await flushed(), { '': [2, 2, 5], a: [2, 2, 3], store: [0, 1, 3] })
  t.strictSame(await flushed(), {}, 'once')
})

t.test('Usage: refusals of clients that are not registered count for all together only', async (t) => {
  const { see, flushed } = createWorld()
  see({ ...wrongSecret, reason: 'unknown client' }, { ...wrongSecret, reason: 'no credentials', clientId: undefined })
  see({ ...malformed, clientId: undefined }, { ...ofAToken, suite: undefined, clientId: undefined })
  see({ type: 'request failed', reason: 'store unavailable', err: new Error('gone'), ...asked }, { type: 'stopped' })
  t.strictSame(await flushed(), { '': [0, 0, 4] })
})

t.test('Usage: what a failed flush has not stored is stored by the next one, with what came meanwhile', async (t) => {
  const { countCheck, flushed } = createWorld()
  for (let n = 0; n < 60; n++) countCheck(`a-${n}`, undefined)
  const failing = flushed((step) => step.some(({ clientId }) => clientId === 'a-59'))
  await t.rejects(failing, { message: 'full' })
  countCheck('a-59', undefined)
  const stored = await flushed(() => false)
  t.strictSame([stored['a-0'], stored['a-58'], stored['a-59']], [undefined, [0, 1, 0], [0, 2, 0]])
})
