import type { Credentials } from '../../bench/world/checkout.ts'

/** What the fuzzer knows about the server: valid credentials and tokens, and those that were valid once. */
export interface Known {
  application: Credentials
  suspended: Credentials
  suite: Credentials
  token: string
  revokedToken: string
}

/** A request, and the most that its answer may grant. */
export interface Request {
  text: string
  /** Whether it has valid credentials of an application that may get a token. */
  mayIssue: boolean
  /** Whether it has a valid token (and the suite's secret, where a suite must authenticate). */
  mayPass: boolean
}

/** Marks what must never get into the log or the database. */
export const CANARY = 'CANARYx7q'
