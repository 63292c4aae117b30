import type { FastifyReply } from 'fastify'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { LAST_CHANGES, type PageOverrides } from './application-view.ts'
import { unchangedNames } from './components/names-panel.ts'
import { newRotation } from './components/rotation.ts'
import { fieldsOf } from './fields.ts'
import { instructionsFor } from './instructions.ts'
import { showPage } from './page.ts'
import { settingOf } from './settings.ts'
import { suitePage } from './suite-page.ts'
import { canChange } from './viewers.ts'

/** Approved applications per page. */
const PAGE_SIZE = 20

/** Returns a function that answers with the page of a suite. */
export function createSuiteView(context: AdminContext) {
  const { store, now } = context
  const urls = { publicUrl: settingOf(context, 'PUBLIC_URL'), docsUrl: settingOf(context, 'DOCS_URL') }

  return async (suiteId: string, reply: FastifyReply, { status = 200, ...overrides }: PageOverrides = {}) => {
    const { request } = reply
    const { suites, why } = administrationOf(context, request)
    const suite = await suites.show(suiteId)
    const after = fieldsOf(request.query).text('after') || undefined
    const { rows, next } = await suites.listApprovedPage(suiteId, { after, limit: PAGE_SIZE })
    const page = suitePage({
      explanation: await why(suiteId, instructionsFor(request)),
      suite,
      approved: { applications: rows, count: await suites.countApproved(suiteId), next, isFirst: after === undefined },
      events: await store.listAuditEvents({ subject: suiteId, kind: 'suite', limit: LAST_CHANGES }),
      now: now(),
      canChange: canChange(request),
      rotation: newRotation(),
      names: unchangedNames({ name: suite.name }),
      ...urls,
      ...overrides,
    })
    return showPage(reply, page, { status })
  }
}
