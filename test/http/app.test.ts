import t from 'tap'
import { createWorld } from '../support/world.ts'

t.test('Log: Fastify writes none of its own, where a target or a header could be in it', async (t) => {
  const { app } = await createWorld(t)
  t.equal(app.log.level, undefined)
})
