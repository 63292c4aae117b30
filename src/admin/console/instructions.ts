import type { Instructions } from '../../administration/instructions.ts'

/** Instructions that refer to elements on the pages of applications and suites. */
export const CONSOLE_INSTRUCTIONS: Instructions = {
  resume: () => '“Resume” above',
  rotate: () => '“Rotate secret” below',
  approve: (_, suites) => `tick ${suites.length > 0 ? suites.join(', ') : 'a suite'} under Approvals`,
  list: 'the list of applications',
  ofSuite: (_, said) => said,
}
