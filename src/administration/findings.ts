import type { RefusalCount } from '../domain/refusal.ts'
import type { ShownApplication } from './applications.ts'
import type { Instructions } from './instructions.ts'
import type { ListedSecret } from './secrets.ts'

/** An application, and the tokens that it got and did not get in this hour. */
export interface ApplicationInTrouble extends ShownApplication {
  /** In this hour of the clock so far. */
  tokensThisHour: number
  /** In this hour, because they were more than its quota. */
  refusedThisHour: number
}

/** An application or a suite, which authenticates with secrets. */
export interface Owner {
  clientId: string
  secrets: readonly ListedSecret[]
  /** Milliseconds since the epoch. */
  now: number
  instructions: Instructions
}

/** What is known of an application. Newest refusals first; `now` in milliseconds since the epoch. */
export interface Findings {
  application: ApplicationInTrouble
  refusals: readonly RefusalCount[]
  similarRefusals: readonly RefusalCount[]
  /** Whether there is any suite: else tokens are checked without one. */
  hasSuites: boolean
  now: number
  instructions: Instructions
}

/** `doubtful`: no request is refused now, but something may still be wrong. */
export type Health = 'well' | 'doubtful' | 'wrong'

export interface Diagnosis {
  health: Health
  /** One line per likely cause, with its remedy: newest first, but causes from before the last token come last. */
  lines: string[]
  /** Where else to look if the partner still sees errors although nothing is refused now. */
  elsewhere?: string
}
