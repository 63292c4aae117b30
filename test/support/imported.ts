import { randomBytes, scryptSync } from 'node:crypto'
import type { Store } from '../../src/domain/store.ts'
import { AUDIT } from './on.ts'

/** The stored form of an imported secret that is cheap to check: the usual one takes a quarter of a second. */
export function cheapDigest(secret: string): string {
  const salt = randomBytes(16)
  const derived = scryptSync(secret, salt, 32, { N: 2, r: 1, p: 1 })
  return `$scrypt$ln=1,r=1,p=1$${salt.toString('base64url')}$${derived.toString('base64url')}`
}

const NAMES = { name: 'A', developerEmail: 'a@b.example' }

/** Registers an application with an imported secret that is cheap to check. */
export async function registerImported(store: Store, clientId: string, secret: string, names = NAMES): Promise<void> {
  const createdAt = AUDIT.at
  const application = {
    ...names,
    clientId,
    createdAt,
    labels: {},
    note: '',
    quota: null,
    suites: [],
    skipNamesake: false,
  }
  const applications = [{ ...application, secret: { digest: cheapDigest(secret), createdAt } }]
  await store.register({ suites: [], applications }, AUDIT)
}
