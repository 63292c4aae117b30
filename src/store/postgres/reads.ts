import type { Application, ApplicationKey } from '../../domain/application.ts'
import { ClocksDiffer, type FoundToken, type Store, StoreUnavailable } from '../../domain/store.ts'
import type { Suite } from '../../domain/suite.ts'
import { CLOCK_TOLERANCE } from '../../domain/time.ts'
import { tokenIdText } from '../../domain/token.ts'
import { createBatch } from '../batch.ts'
import type { Ask } from '../shared/work.ts'
import { arrayOf } from './connection.ts'
import type { Primary } from './primary.ts'
import { type RegistryView, readRegistry, type Summary, type Wanted } from './registry.ts'
import { type Session, TIMEOUT_MS } from './session.ts'
import * as sql from './statements/tokens.ts'

/** How many turns of the event loop a round trip waits for more reads: it costs as much as dozens of them. */
const READ_TURNS = 9

/** How many reads may wait for an answer. */
const MAX_READS = 8192

/** A longer round trip does not tell the database's clock exactly enough. */
const MAX_CLOCK_ROUND_TRIP_MS = 500

type Read =
  | { type: 'token'; id: Buffer; idText: string }
  | { type: 'application'; clientId: string }
  | { type: 'suite'; suiteId: string }
  | { type: 'summary' }
  | { type: 'nothing' }

type TokenRow = [
  version: number,
  clock: number,
  id: string | null,
  secretHash: string,
  applicationKey: ApplicationKey,
  generation: number,
  issuedAt: number,
  revokedAt: number | null,
  audience: string | null,
]

/**
 * The reads of a check and an authentication. All that arrive while a round trip is under way share the next one: so each sees
 * every change that was answered before it arrived. Tokens are read each time. Applications and suites are cached for as long as
 * the registry's version, which is read with the tokens, stays the same (docs/adr/0018). `database`: its location.
 * `assertWritable` rejects if nothing can be written.
 */
export function createReads(primary: Primary, database: string, assertWritable: (isDoubted: boolean) => Promise<void>) {
  /** How far the database's clock is ahead, in milliseconds. */
  let clockOffset: number | undefined

  const { add: read } = createBatch<Read, unknown>(
    async (take) => {
      const session = await primary.session()
      await session.proveIfNeeded()
      const reads = take()
      const ask = askUntil(session, TIMEOUT_MS)
      const { tokens, offset = clockOffset } = await readTokens(session, ask, reads)
      clockOffset = offset
      if (reads.some(({ type }) => type === 'summary')) await readSummary(session, ask)
      const answers = reads.map((read) => answer(read, tokens, session.cache))
      const pending = reads.filter((_, index) => answers[index] === undefined)
      if (pending.length > 0) {
        const registry = await readRegistry(session.cache, ask, wantedBy(pending, tokens))
        for (const [index, read] of reads.entries())
          if (answers[index] === undefined) answers[index] = answer(read, tokens, registry)
      }
      session.assertPrimary()
      return answers.map((answer) => answer ?? undefined)
    },
    { maxTurns: READ_TURNS, maxItems: MAX_READS },
  )

  /** Checks of the server itself must not fail because clients are waiting. */
  const readNothing = () => read({ type: 'nothing' }, { isUrgent: true })
  const summary = () => read({ type: 'summary' }) as Promise<Summary>

  return {
    findToken: (id) => read({ type: 'token', id, idText: tokenIdText(id) }) as Promise<FoundToken | undefined>,
    findApplication: (clientId) => read({ type: 'application', clientId }) as Promise<Application | undefined>,
    recallApplication(clientId) {
      const cache = primary.current()?.cache
      const application = cache?.application(clientId)
      const state = cache?.state()
      return application && state ? { application, state } : undefined
    },
    findSuite: (suiteId) => read({ type: 'suite', suiteId }) as Promise<Suite | undefined>,
    mostImportedSecrets: async () => (await summary()).mostImportedSecrets,
    suiteUrls: async () => (await summary()).suiteUrls,
    clockOffset: () => clockOffset,

    async ping(isDoubted = false) {
      await readNothing()
      // The answer may have taken too long to compare the clocks.
      if (clockOffset === undefined) await readNothing()
      await assertWritable(isDoubted)
      // While the offset is unknown, this is NaN, which is not above any limit.
      const apart = Math.round(Math.abs(Number(clockOffset)))
      if (!(apart > CLOCK_TOLERANCE)) return
      throw new ClocksDiffer(`this machine's clock and that of ${database} are ${apart} ms apart: set both by NTP`)
    },

    async backlog() {
      await readNothing()
      return undefined
    },
  } satisfies Partial<Store>
}

function askUntil({ reads }: Session, timeout: number): Ask {
  const deadline = performance.now() + timeout
  const remaining = () => Math.max(deadline - performance.now(), 1)
  return async (statement, values = []) => (await reads.send<never>(statement, values, remaining())).rows
}

/** `offset`: how far the database's clock is ahead; undefined if that took too long to tell. */
async function readTokens({ cache }: Session, ask: Ask, reads: readonly Read[]) {
  const ids = reads.flatMap((read) => (read.type === 'token' ? [read.idText] : []))
  const sentAt = Date.now()
  const rows =
    ids.length === 0 ? await ask<TokenRow>(sql.readVersion) : await ask<TokenRow>(sql.readTokens, [arrayOf(ids)])
  const took = Date.now() - sentAt
  if (!rows[0]) throw new StoreUnavailable('the table changes has no row: was it restored without its contents?')
  const [version, clock] = rows[0]
  cache.moveTo(version)
  const tokens = new Map(rows.flatMap((row) => (row[2] === null ? [] : [[row[2], row]])))
  return { tokens, offset: took < MAX_CLOCK_ROUND_TRIP_MS ? clock - sentAt - took / 2 : undefined }
}

async function readSummary({ cache }: Session, ask: Ask): Promise<void> {
  if (cache.summary) return
  type Row = [version: number, mostImportedSecrets: number, urls: string]
  const [version, mostImportedSecrets, urls] = (await ask<Row>(sql.readSummary))[0] as Row
  cache.moveTo(version)
  cache.summary = { mostImportedSecrets, suiteUrls: new Map(Object.entries(JSON.parse(urls))) }
}

/** The answer to a read: null if what was asked for does not exist, undefined if this view of the registry lacks it. */
function answer(
  read: Read,
  tokens: Map<string, TokenRow>,
  registry: RegistryView & { summary?: Summary | undefined },
): unknown {
  switch (read.type) {
    case 'token': {
      const row = tokens.get(read.idText)
      if (!row) return null
      const application = registry.applicationOf(row[4])
      return application === undefined
        ? undefined
        : { stored: toToken(read.id, row), application: application ?? undefined }
    }
    case 'application':
      return registry.application(read.clientId)
    case 'suite':
      return registry.suite(read.suiteId)
    case 'summary':
      return registry.summary
    case 'nothing':
      return null
  }
}

function wantedBy(reads: readonly Read[], tokens: Map<string, TokenRow>): Wanted {
  const wanted: Wanted = { clientIds: new Set(), keys: new Set(), suiteIds: new Set() }
  for (const read of reads) {
    if (read.type === 'token') wanted.keys.add((tokens.get(read.idText) as TokenRow)[4])
    if (read.type === 'application') wanted.clientIds.add(read.clientId)
    if (read.type === 'suite') wanted.suiteIds.add(read.suiteId)
  }
  return wanted
}

function toToken(id: Buffer, [, , , hash, applicationKey, generation, issuedAt, revokedAt, audience]: TokenRow) {
  return { id, secretHash: Buffer.from(hash, 'hex'), applicationKey, generation, audience, issuedAt, revokedAt }
}
