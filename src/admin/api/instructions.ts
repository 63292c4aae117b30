import { aboutSuite, COMMANDS, type Instructions } from '../../administration/findings.ts'

const APPLICATIONS = '/admin/v1/applications'

/** API calls, followed by the same commands for people who read the answer. */
export const API_INSTRUCTIONS: Instructions = {
  resume: (clientId) => `DELETE ${pathOf(clientId)}/suspension (or ${COMMANDS.resume(clientId)})`,
  rotate: (owner) => `POST to its /secrets (or ${COMMANDS.rotate(owner)})`,
  approve: (clientId, suites) => `PUT ${pathOf(clientId)}/suites/{suite_id} (or ${COMMANDS.approve(clientId, suites)})`,
  list: `GET ${APPLICATIONS}`,
  ofSuite: aboutSuite(`POST ${APPLICATIONS}`),
}

function pathOf(clientId: string): string {
  return `${APPLICATIONS}/${encodeURIComponent(clientId)}`
}
