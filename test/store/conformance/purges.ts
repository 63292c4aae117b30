import type { Test } from 'tap'
import type { Store } from '../../../src/domain/store.ts'
import { mintToken, type StoredToken } from '../../../src/domain/token.ts'
import { HOUR } from '../../../src/domain/usage.ts'
import { suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { refusal } from '../../support/refusal.ts'
import { START } from '../../support/world.ts'
import { type Harness, newKey, onEmptyStore, register, SECRET } from './harness.ts'

const FIVE_MINUTES = 300_000

interface Purged {
  /** Added in the order of their times, because the purge ends at the first one that is younger. */
  isOrdered?: true
  /** Adds what has a time. */
  add: (time: number) => Promise<unknown>
  purge: (before: number, limit: number) => Promise<number>
  /** The times of what is left. */
  left: () => Promise<number[]>
}

const PURGED: Record<string, (store: Store) => Promise<Purged>> = {
  async tokens(store) {
    const key = await newKey(store)
    const tokens = [1, 2, 3, 4].map((time) => mintToken(key, START + time).stored)
    return {
      add: (time) => store.addToken(tokens[time - 1] as StoredToken),
      purge: (before, limit) => store.purge('tokens', START + before, limit),
      // A token that was looked up is remembered for as long as it lives.
      left: async () => {
        const oldest = Number((await store.measure(START)).oldestTokenAt)
        return tokens.filter(({ issuedAt }) => issuedAt >= oldest).map(({ issuedAt }) => issuedAt - START)
      },
    }
  },
  async 'counts of tokens'(store) {
    const count = { applicationKey: await newKey(store), issued: 1, refused: 0, lastTokenAt: START }
    return {
      add: (hour) => store.addTokenCounts([{ ...count, hour }]),
      purge: (before, limit) => store.purge('token counts', before * HOUR, limit),
      left: async () => {
        const found = [1, 2, 3, 4].map((hour) => store.listTokenCounts([count.applicationKey], hour))
        return (await Promise.all(found)).flat().flatMap(({ hour, issued }) => (issued > 0 ? hour : []))
      },
    }
  },
  async usage(store) {
    const kept = 2 * HOUR
    return {
      add: (time) => store.addUsage([{ clientId: '', tokens: 1, checks: 0, refusals: 0 }], time * FIVE_MINUTES),
      purge: async (before, limit) => store.purge('usage', before * FIVE_MINUTES + kept, limit),
      left: async () => {
        const spans = [1, 2, 3, 4].map((time) => time * FIVE_MINUTES)
        return (await store.listUsage([''], FIVE_MINUTES, spans)).map(({ since }) => since / FIVE_MINUTES)
      },
    }
  },
  'audit events': async (store) => ({
    isOrdered: true,
    add: (time) => store.register({ suites: [suite(`${time}`)], applications: [] }, { ...AUDIT, at: START + time }),
    purge: (before, limit) => store.purge('audit events', START + before, limit),
    left: async () => (await store.listAuditEvents({ limit: 9 })).map(({ subject }) => Number(subject.id)),
  }),
  async refusals(store) {
    await register(store, 'a')
    return {
      add: (time) => store.recordRefusals([refusal('a', { remoteAddress: `${time}`, lastAt: START + time })]),
      purge: (before, limit) => store.purge('refusals', START + before, limit),
      left: async () => (await store.listRefusals('a')).map(({ lastAt }) => lastAt - START),
    }
  },
  async 'idempotency records'(store) {
    await register(store, 'a')
    const audit = (digest: string, at: number) => ({ ...AUDIT, at, idempotency: { digest, sealed: digest } })
    return {
      add: (time) => on(store).rotateSecret('a', SECRET, START + 9, 0, audit(`${time}`, START + time)),
      purge: (before, limit) => store.purge('idempotency records', START + before, limit),
      left: async () => {
        const found = await Promise.all([1, 2, 3, 4].map((time) => store.findSealedAnswer(`${time}`, 0)))
        return found.flatMap((sealed) => (sealed ? [Number(sealed)] : []))
      },
    }
  },
}

export function purgeConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)
  for (const [what, begin] of Object.entries(PURGED)) {
    test(`Store: old ${what} are purged, the oldest first, no more than the limit`, async (t, store) => {
      const { isOrdered, add, purge, left } = await begin(store)
      for (const time of isOrdered ? [1, 2, 3, 4] : [3, 1, 2, 4]) await add(time)
      t.strictSame([await purge(1, 10), await purge(4, 2)], [0, 2])
      t.strictSame((await left()).sort(), [3, 4])
      t.strictSame([await purge(4, 2), await purge(4, 2), await left()], [1, 0, [4]])
    })
  }
}
