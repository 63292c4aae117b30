import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Explanation, NothingKnown } from '../../administration/why.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { applicationPage, type ShownApplicationPage } from './application-page.ts'
import { unchangedNames } from './components/names-panel.ts'
import { newRotation } from './components/rotation.ts'
import { instructionsFor } from './instructions.ts'
import { showPage } from './page.ts'
import { settingOf } from './settings.ts'
import { MAX_CHOICES } from './suite-choices.ts'
import { type Unknown, unknownApplicationPage } from './unknown-application-page.ts'
import { canChange } from './viewers.ts'

/** How many of the last changes the page of an application or a suite shows. */
export const LAST_CHANGES = 10

/** Parts of the page that differ after a form was refused: the form with what was typed, and the error. */
export type PageOverrides = Partial<Pick<ShownApplicationPage, 'rotation' | 'names' | 'problem'>> & { status?: number }

/** Returns a function that answers with the page of an application, or 404. */
export function createApplicationView(context: AdminContext) {
  const { store, now } = context
  const publicUrl = settingOf(context, 'PUBLIC_URL')

  return async (clientId: string, reply: FastifyReply, { status = 200, ...overrides }: PageOverrides = {}) => {
    const { request } = reply
    const explanation = await explain(clientId, request)
    const { application } = explanation
    if (!application) return showPage(reply, unknownApplicationPage(explanation, now()), { status: 404 })
    const { name, developerEmail } = application
    const page = applicationPage({
      explanation,
      application,
      suites: await store.listSuites({ limit: MAX_CHOICES }),
      events: await store.listAuditEvents({ subject: clientId, kind: 'application', limit: LAST_CHANGES }),
      now: now(),
      canChange: canChange(request),
      publicUrl,
      rotation: newRotation(),
      names: unchangedNames({ name, developer_email: developerEmail }),
      ...overrides,
    })
    return showPage(reply, page, { status })
  }

  async function explain(
    clientId: string,
    request: FastifyRequest,
  ): Promise<Explanation | (Unknown & { application: undefined })> {
    try {
      return await administrationOf(context, request).why(clientId, instructionsFor(request))
    } catch (error) {
      if (!(error instanceof NothingKnown)) throw error
      const { similarApplications } = error
      return { clientId, application: undefined, suite: undefined, similarRefusals: [], similarApplications }
    }
  }
}
