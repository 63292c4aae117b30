import type { FastifyReply } from 'fastify'
import { doneMessage } from './done.ts'
import { fieldsOf } from './fields.ts'
import { layout, type Page } from './layout.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether this server is a demo. */
    isDemo: boolean
  }
}

/** Answers with a page in its frame. */
export function showPage(reply: FastifyReply, page: Page, { status = 200 } = {}): FastifyReply {
  const { caller, query, isDemo } = reply.request
  const done = doneMessage(fieldsOf(query).text('done'))
  return (
    reply
      .code(status)
      // With `no-referrer`, browsers would send forms with `Origin: null`, which createOriginCheck refuses.
      .header('referrer-policy', 'same-origin')
      .type('text/html; charset=utf-8')
      .send(layout(page, { operator: caller?.operator, done, isDemo }))
  )
}
