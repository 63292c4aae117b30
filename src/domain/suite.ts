import type { AnnotationChanges, Annotations, Key } from './application.ts'
import { OperatorError } from './operator-error.ts'
import type { NewSecret, Secret } from './secret.ts'

/** A registered API suite: a resource server (RFC 6749 §1.1) that may check tokens. */
export interface Suite extends Annotations {
  readonly key: SuiteKey
  /** Its client identifier for introspection, and the audience (`aud`) of tokens there. */
  readonly suiteId: string
  readonly name: string
  readonly createdAt: number
  /** As of an application. */
  readonly appliedAt: number | null
  readonly secrets: readonly Secret[]
}

export type SuiteKey = Key<'suite'>

export interface SuiteChanges extends AnnotationChanges {
  readonly name?: string | undefined
}

export interface NewSuite extends Pick<Suite, 'suiteId' | 'name' | 'createdAt' | keyof Annotations> {
  readonly secret: NewSecret
}

export function unknownSuite(suiteId: string): OperatorError {
  return new OperatorError(`There is no suite with the id ${suiteId}.`, { kind: 'not found' })
}
