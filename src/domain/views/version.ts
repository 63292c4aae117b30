import { createHash } from 'node:crypto'
import type { Application } from '../application.ts'
import type { PublicFields } from '../audit-event.ts'
import type { Suite } from '../suite.ts'
import { applicationFields } from './application.ts'
import { secretFields } from './secret.ts'
import { suiteFields } from './suite.ts'

/** What a change can change of an application or a suite. Usage is not part of it. */
export const PUBLIC_FIELDS = {
  application: (stored: Application) => ({ ...applicationFields(stored), secrets: stored.secrets.map(secretFields) }),
  suite: (stored: Suite) => ({ ...suiteFields(stored), secrets: stored.secrets.map(secretFields) }),
}

/** Identifies the state of an application or a suite: equal as long as its public fields are. */
export function versionOf(fields: PublicFields): string {
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, 22)
}
