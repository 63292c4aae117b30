import { randomBytes, scryptSync } from 'node:crypto'
import type { Store } from '../../src/domain/store.ts'
import { application } from './newcomers.ts'
import { AUDIT } from './on.ts'

/** The stored form of an imported secret that is cheap to check: the usual one takes a quarter of a second. */
export function cheapDigest(secret: string): string {
  const salt = randomBytes(16)
  const derived = scryptSync(secret, salt, 32, { N: 2, r: 1, p: 1 })
  return `$scrypt$ln=1,r=1,p=1$${salt.toString('base64url')}$${derived.toString('base64url')}`
}

/** Registers an application with an imported secret that is cheap to check. */
export async function registerImported(store: Store, clientId: string, secret: string, names = {}): Promise<void> {
  const digest = cheapDigest(secret)
  const imported = application(clientId, { ...names, secrets: [{ digest, createdAt: AUDIT.at }] })
  await store.register({ suites: [], applications: [imported] }, AUDIT)
}
