import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { callerOf } from '../../../src/admin/wire/caller.ts'

t.test('Caller: where nobody is known, nothing is done in a name', async (t) => {
  t.throws(() => callerOf({ caller: null } as FastifyRequest), /^The request is not authenticated\.$/)
})
