import type { Credentials } from '../../bench/world/checkout.ts'

/** What the fuzzer knows of the server: what is right, and what was right once. */
export interface Known {
  application: Credentials
  suspended: Credentials
  suite: Credentials
  token: string
  revokedToken: string
}

/** A request, and what it may be answered with at most. */
export interface Request {
  text: string
  /** Whether it has the right credentials of an application that may have a token. */
  mayIssue: boolean
  /** Whether it has a valid token (and where a suite must say who it is, the suite's secret). */
  mayPass: boolean
  /** Whether it is as the contract has it: then it must be answered with 200. */
  isRight: boolean
}

/** Marks what must never get into the log or the database. */
export const CANARY = 'CANARYx7q'
