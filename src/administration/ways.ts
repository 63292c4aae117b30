/** What an operator is told to do, in the words of where it is read: commands here, or what stands on a page. */
export interface Ways {
  resume(clientId: string): string
  /** `owner`: the client id of an application or the id of a suite. */
  rotate(owner: string): string
  /** Without suites: for any. */
  approve(clientId: string, suites: readonly string[]): string
  readonly list: string
  /** What is said of a suite to whoever may have meant an application. `isWell`: nothing is wrong with the suite. */
  ofSuite(suiteId: string, said: string, options?: { isWell: boolean }): string
}

export const COMMANDS: Ways = {
  resume: (clientId) => `"applications resume ${clientId}"`,
  rotate: (owner) => `"secrets rotate ${owner}"`,
  approve: (clientId, suites) => {
    const options = suites.map((suite) => `--suite ${suite}`).join(' ')
    return `"applications approve ${clientId} ${options || '--suite ID'}"`
  },
  list: '"applications list"',
  ofSuite: (suiteId, said, { isWell } = { isWell: false }) => {
    const isSuite = `${suiteId} is a suite: it asks about tokens, and gets none. ${said}`
    if (!isWell) return isSuite
    return `${isSuite} Who needs tokens needs the credentials of an application: "applications register".`
  },
}
