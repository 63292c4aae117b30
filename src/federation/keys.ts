import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../domain/events.ts'
import {
  type Claims,
  type Issuer,
  KEPT_MS,
  keysNamed,
  type PublicKey,
  publicKeysIn,
  shown,
} from '../domain/federation.ts'
import type { Issuers } from '../domain/store.ts'
import { visibleOnOneLine } from '../domain/text.ts'
import { type Clock, MINUTE, timestamp } from '../domain/time.ts'
import { failureTexts } from '../web/answers.ts'
import { fetchLimited } from '../web/fetch.ts'

/** How long discovery and keys of an issuer may take together, in milliseconds. */
const TIMEOUT_MS = 5000

/** From which age on keys are fetched again while they are still used. */
const REFRESH_MS = 10 * MINUTE

/** From which age on a JWT waits for that, unless its issuer was away: the key may have been withdrawn since. */
const STALE_MS = 60 * MINUTE

/** How often a process looks whether another one has fetched the keys. */
const LOOK_MS = 250

/** Does what takes time when it is the caller's turn. */
export type InTurn = <Result>(step: () => Promise<Result>) => Promise<Result>

export interface KeyOptions {
  store: Issuers
  now: Clock
  observe: Observer
  /** How long an issuer may take to answer, in milliseconds. */
  timeout?: number
}

/**
 * The keys of issuers, which all processes share in the store. They are fetched if somebody needs them: at most once a minute, and
 * in the background if those that are known will do.
 */
export function createIssuerKeys({ store, now, observe, timeout = TIMEOUT_MS }: KeyOptions) {
  const fetching = new Map<string, Promise<void>>()

  /**
   * An issuer, with the key that the header of a JWT names if it has that. Its keys are left out once they are too old. Undefined if
   * no active credential needs them. Rejects with StoreUnavailable, or like `inTurn`.
   */
  async function find(name: string, header: Claims, inTurn: InTurn): Promise<Issuer | undefined> {
    const read = async () => {
      const issuer = await inTurn(() => store.findIssuer(name, now()))
      return issuer && !isYounger(issuer, KEPT_MS) ? { ...issuer, keys: [] } : issuer
    }
    const known = await read()
    if (!known || (isTried(known) && isAnswered(known))) return known
    const hasKey = keysNamed(known.keys, header).length > 0
    if (hasKey && isYounger(known, REFRESH_MS)) return known
    const refreshed = refresh(known)
    if (!hasKey || (known.problem === null && !isYounger(known, STALE_MS))) return refreshed.then(read)
    refreshed.catch(() => {})
    return known
  }

  /** Whether its keys were to be fetched within the last minute. */
  function isTried({ triedAt }: Issuer): boolean {
    return triedAt !== null && Math.abs(now() - triedAt) < MINUTE
  }

  function isAnswered({ triedAt, answeredAt }: Issuer): boolean {
    return Number(answeredAt) >= Number(triedAt)
  }

  /** Whether its keys were fetched less than this long ago, or, since a clock may be set back, in the near future. */
  function isYounger({ fetchedAt }: Issuer, age: number): boolean {
    return fetchedAt !== null && Math.abs(now() - fetchedAt) < age
  }

  function refresh(known: Issuer): Promise<void> {
    const { issuer } = known
    const begun = fetching.get(issuer) ?? fetchKeys(known).finally(() => fetching.delete(issuer))
    fetching.set(issuer, begun)
    return begun
  }

  /** Fetches the keys, or waits for another process that does. */
  async function fetchKeys(known: Issuer): Promise<void> {
    const { issuer } = known
    if (isTried(known) || !(await store.beginFetch(issuer, now()))) return waitForOther(issuer)
    const fetched = await keysOf(issuer, AbortSignal.timeout(timeout)).then(
      (keys) => ({ keys, problem: null }),
      ({ message }: Error) => ({ keys: null, problem: message }),
    )
    await store.endFetch(issuer, { at: now(), ...fetched })
    if (fetched.keys === null) {
      const fetchedAt = known.fetchedAt === null ? undefined : timestamp(known.fetchedAt)
      observe({ type: 'issuer keys not fetched', issuer, problem: fetched.problem, fetchedAt })
    } else if (known.problem !== null || JSON.stringify(fetched.keys) !== JSON.stringify(known.keys)) {
      observe({ type: 'issuer keys fetched', issuer, keys: fetched.keys.length })
    }
  }

  async function waitForOther(issuer: string): Promise<void> {
    for (let waited = 0; waited < timeout; waited += LOOK_MS) {
      const known = await store.findIssuer(issuer, now())
      if (!known || isAnswered(known)) return
      await sleep(LOOK_MS, undefined, { ref: false })
    }
  }

  return find
}

/** Reads the metadata of an issuer (OpenID Connect Discovery §4) and its keys. Rejects with the reason. */
async function keysOf(issuer: string, signal: AbortSignal): Promise<PublicKey[]> {
  const place = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { issuer: named, jwks_uri: uri } = (await fetchJson(place, signal)) ?? {}
  // No part of what it answered: whoever can add a credential could read pages of the server's network in the log.
  if (named !== issuer) throw new Error(`${shown(place)}: its issuer is not ${shown(issuer)}`)
  if (typeof uri !== 'string' || !uri.startsWith('https://')) {
    throw new Error(`${shown(place)}: its jwks_uri is not an https URL`)
  }
  const document = await fetchJson(uri, signal)
  try {
    return publicKeysIn(document)
  } catch (error) {
    throw new Error(`${shown(uri)}: ${(error as Error).message}`)
  }
}

/** Follows no redirects. */
async function fetchJson(url: string, signal: AbortSignal): Promise<Partial<Claims> | null> {
  try {
    const response = await fetchLimited(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } })
    if (response.status !== 200) throw new Error(`it answered ${response.status}`)
    return await response.json().catch(() => {
      throw new Error('it answered no JSON')
    })
  } catch (error) {
    throw new Error(`${shown(url)}: ${visibleOnOneLine(String(failureTexts(error)[0])).slice(0, 200)}`)
  }
}
