import type { Instructions } from '../../administration/instructions.ts'

/** What is to be done, by what stands on the page of an application or a suite. */
export const CONSOLE_INSTRUCTIONS: Instructions = {
  resume: () => '“Resume” above',
  rotate: () => '“Rotate secret” below',
  approve: (_, suites) => `tick ${suites.length > 0 ? suites.join(', ') : 'a suite'} under Approvals`,
  list: 'the list of applications',
  ofSuite: (_, said) => said,
}
