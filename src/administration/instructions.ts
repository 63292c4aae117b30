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
