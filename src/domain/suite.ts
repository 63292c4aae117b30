import type { Key } from './application.ts'
import { OperatorError } from './operator-error.ts'
import { object, text, time, view } from './schema.ts'
import type { NewSecret, Secret } from './secret.ts'

/** A registered API suite: a resource server (RFC 6749 §1.1) that may ask about tokens. */
export interface Suite {
  readonly key: SuiteKey
  /** Its client identifier where it asks, and the audience (`aud`) of a token there. */
  readonly suiteId: string
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly secrets: readonly Secret[]
}

export type SuiteKey = Key<'suite'>

/** What operators are shown of every suite, also in audit events. Never a secret or a digest. */
export const SUITE = object('ListedSuite', 'A suite in a list', {
  id: text('Its id, and the audience of tokens there'),
  name: text('Its name'),
  created_at: time('When it was registered'),
})

export function suiteFields(suite: Suite) {
  return view(SUITE, { id: suite.suiteId, ...suite })
}

/** A suite that is about to be registered. */
export interface NewSuite {
  readonly suiteId: string
  readonly name: string
  readonly createdAt: number
  readonly secret: NewSecret
}

/** The error of an operator who names a suite that does not exist. */
export function unknownSuite(suiteId: string): OperatorError {
  return new OperatorError(`There is no suite with the id ${suiteId}.`, { kind: 'not found' })
}
