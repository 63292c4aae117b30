import { AdministrationError } from './refusal.ts'
import type { NewSecret, Secret } from './secret.ts'

/** A registered API suite: a resource server (RFC 6749 §1.1) that may ask about tokens. */
export interface Suite {
  /** Its client identifier where it asks, and the audience (`aud`) of a token there. */
  suiteId: string
  name: string
  /** Milliseconds since the epoch. */
  createdAt: number
  secrets: Secret[]
}

/** A suite that is about to be registered. */
export interface NewSuite {
  suiteId: string
  name: string
  createdAt: number
  secret: NewSecret
}

/** The refusal of an administrator who names a suite that is not there. */
export function unknownSuite(suiteId: string): AdministrationError {
  return new AdministrationError(`There is no suite with the id ${suiteId}.`)
}
