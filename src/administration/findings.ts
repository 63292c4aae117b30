import type { RefusalCount } from '../domain/refusal.ts'
import type { ShownApplication } from './applications.ts'
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

/** How a diagnosis words its remedies: as commands, as API calls, or as controls on a page. */
export interface Instructions {
  resume(clientId: string): string
  /** `owner`: the client id of an application or the id of a suite. */
  rotate(owner: string): string
  /** An empty list of suites leaves the choice to the reader. */
  approve(clientId: string, suites: readonly string[]): string
  readonly list: string
  /** The diagnosis of a suite, for a reader who may have meant an application. `isWell`: nothing is wrong with the suite. */
  ofSuite(suiteId: string, said: string, options?: { isWell: boolean }): string
}

export const COMMANDS: Instructions = {
  resume: (clientId) => `"applications resume ${clientId}"`,
  rotate: (owner) => `"secrets rotate ${owner}"`,
  approve: (clientId, suites) => {
    const options = suites.map((suite) => `--suite ${suite}`).join(' ')
    return `"applications approve ${clientId} ${options || '--suite ID'}"`
  },
  list: '"applications list"',
  ofSuite: aboutSuite('"applications register"'),
}

/** `register`: how to register an application. */
export function aboutSuite(register: string): Instructions['ofSuite'] {
  return (suiteId, said, { isWell } = { isWell: false }) => {
    const isSuite = `${suiteId} is a suite: it asks about tokens, and gets none. ${said}`
    if (!isWell) return isSuite
    return `${isSuite} Who needs tokens needs the credentials of an application: ${register}.`
  }
}
