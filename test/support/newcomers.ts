import { extrasOf, type NewApplication } from '../../src/domain/application.ts'
import type { NewSuite } from '../../src/domain/suite.ts'
import { aRegistration } from './registration.ts'
import { START } from './world.ts'

/** The digest of a generated secret; no text that a store shows contains it by chance. */
export const DIGEST = '$sha256$DIGESTAAAA'

/** What is registered of an application in the tests of stores. */
export function application(clientId: string, more: Partial<NewApplication> = {}): NewApplication {
  return {
    ...aRegistration({ name: `Application ${clientId}` }),
    ...extrasOf({}),
    clientId,
    createdAt: START,
    secrets: [{ digest: DIGEST, createdAt: START }],
    suites: [],
    skipNamesake: false,
    ...more,
  }
}

/** What is registered of a suite in the tests of stores. */
export function suite(suiteId: string): NewSuite {
  const secret = { digest: DIGEST, createdAt: START }
  return { suiteId, name: `Suite ${suiteId}`, url: '', labels: {}, note: '', managedBy: '', createdAt: START, secret }
}
