import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../domain/refusal.ts'
import { matchesImported, type Secret } from '../domain/secret.ts'

const AT_ONCE = 2
const WAITING = 64
const REMEMBERED = 10_000

type Imported = Pick<Secret, 'digest'>
export type ImportedSecrets = ReturnType<typeof createImportedSecrets>

/**
 * Checks secrets that operators brought along. Scrypt is slow on purpose, so it runs off the event loop, two at once,
 * and a secret once verified is remembered, in memory only, as a hash under a key that dies with the process.
 */
export function createImportedSecrets({ waiting: room = WAITING, remembered = REMEMBERED } = {}) {
  const key = randomBytes(32)
  const verified = new Map<string, Buffer>()
  const waiting: (() => void)[] = []
  let running = 0

  const fingerprint = (presented: string) => createHmac('sha256', key).update(presented).digest()

  /** Whether this secret was presented and verified before. */
  function remembers(secret: Imported, presented: string): boolean {
    const known = verified.get(secret.digest)
    return known !== undefined && timingSafeEqual(known, fingerprint(presented))
  }

  /** Compares the slow way. Throws `temporarily_unavailable` when too many wait already. */
  async function matches(secret: Imported, presented: string): Promise<boolean> {
    await turn()
    try {
      const matched = await matchesImported(secret, presented)
      if (matched) remember(secret, presented)
      return matched
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  async function turn(): Promise<void> {
    if (running < AT_ONCE) {
      running++
      return
    }
    if (waiting.length >= room) {
      const reason = 'too many imported secrets wait to be checked'
      throw new Refusal('temporarily_unavailable', 'The server is busy; try again', { reason })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  function remember(secret: Imported, presented: string): void {
    if (verified.size >= remembered) verified.delete(verified.keys().next().value as string)
    verified.set(secret.digest, fingerprint(presented))
  }

  return { remembers, matches }
}
