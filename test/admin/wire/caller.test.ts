import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { callerOf } from '../../../src/admin/wire/caller.ts'

t.test('Caller: an unauthenticated request has no author', async (t) => {
  t.throws(() => callerOf({ caller: null } as FastifyRequest), /^The request is not authenticated\.$/)
})
