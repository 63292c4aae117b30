import type { FastifyRequest } from 'fastify'
import type { Instructions } from '../../administration/findings.ts'
import { canChange } from './viewers.ts'

/** Instructions that refer to elements on the pages of applications and suites. */
const CONSOLE_INSTRUCTIONS: Instructions = {
  resume: () => '“Resume” above',
  rotate: () => '“Rotate secret” below',
  approve: (_, suites) => `tick ${namesOf(suites)} under Approvals`,
  list: 'the list of applications',
  ofSuite: (_, said) => said,
}

/** The same for viewers, who have none of these elements. */
const VIEWER_INSTRUCTIONS: Instructions = {
  ...CONSOLE_INSTRUCTIONS,
  resume: () => 'ask an admin to resume it',
  rotate: () => '“Rotate secret” (ask an admin)',
  approve: (_, suites) => `ask an admin to approve it for ${namesOf(suites)}`,
}

/** What the operator who sent the request is told to do. */
export function instructionsFor(request: FastifyRequest): Instructions {
  return canChange(request) ? CONSOLE_INSTRUCTIONS : VIEWER_INSTRUCTIONS
}

function namesOf(suites: readonly string[]): string {
  return suites.length > 0 ? suites.join(', ') : 'a suite'
}
