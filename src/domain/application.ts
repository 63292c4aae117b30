import { randomString } from './random.ts'
import type { NewSecret, Secret } from './secret.ts'

/** A registered client (RFC 6749 §2): a partner's application, allowed to ask for access tokens. */
export interface Application {
  /** The store's own key, never used twice. */
  id: number
  clientId: string
  name: string
  developerEmail: string
  status: 'active' | 'suspended'
  /** Tokens issued before this time are revoked. Milliseconds since the epoch; 0 where none ever were. */
  tokensValidFrom: number
  /** Milliseconds since the epoch. */
  createdAt: number
  /** The ids of the suites that its tokens are good at. */
  suites: string[]
  secrets: Secret[]
}

/** An application that is about to be registered. */
export interface NewApplication {
  clientId: string
  name: string
  developerEmail: string
  createdAt: number
  secret: NewSecret
  /** The suites to approve it for; all: every one there is. */
  suites: string[] | 'all'
  /** Leave it out where its developer already has an application of this name. */
  uniqueName: boolean
}

/** A new client identifier (RFC 6749 §2.2): 32 characters that form encoding leaves as they are. */
export function generateClientId(): string {
  return randomString(32)
}
