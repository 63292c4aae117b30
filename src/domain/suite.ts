import { isPlainTextUrl } from '../web/address.ts'
import type { AnnotationChanges, Annotations, Key } from './application.ts'
import { OperatorError } from './operator-error.ts'
import type { NewSecret, Secret } from './secret.ts'

/** A registered API suite: a resource server (RFC 6749 §1.1) that may check tokens. */
export interface Suite extends Annotations {
  readonly key: SuiteKey
  /** Its client identifier for introspection, and the audience (`aud`) of tokens there. */
  readonly suiteId: string
  readonly name: string
  /** Its resource identifier (RFC 8707 §2), as `resourceUrl` returns it; empty for none. */
  readonly url: string
  readonly createdAt: number
  /** As of an application. */
  readonly appliedAt: number | null
  readonly secrets: readonly Secret[]
}

export type SuiteKey = Key<'suite'>

export interface SuiteChanges extends AnnotationChanges {
  readonly name?: string | undefined
  readonly url?: string | undefined
}

export interface NewSuite extends Pick<Suite, 'suiteId' | 'name' | 'url' | 'createdAt' | keyof Annotations> {
  readonly secret: NewSecret
}

/**
 * A resource identifier in the form in which it is stored and compared: as the URL standard writes it, without a slash if that is
 * its whole path. Undefined unless it is an https URL (http for this machine only) without user, query and fragment.
 */
export function resourceUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || isPlainTextUrl(url.href)) return undefined
  if (url.username || url.password || /[?#]/.test(url.href)) return undefined
  return url.pathname === '/' ? url.origin : url.href
}

export function unknownSuite(suiteId: string): OperatorError {
  return new OperatorError(`There is no suite with the id ${suiteId}.`, { kind: 'not found' })
}
