import t from 'tap'
import { createAdministration } from '../../../src/administration/administration.ts'
import { createDemoWorld, makeTraffic } from '../../../src/commands/demo/world.ts'
import { commandAuthor } from '../../../src/commands/shared/administer.ts'
import { createWorld } from '../../support/world.ts'

/** More than enough for every partner to send a request. */
const REQUESTS = 40

t.test('Demo: each kind of traffic gets its answer, and all of it ends with the server', async (t) => {
  const { app, store, lines } = await createWorld(t)
  const administration = createAdministration({ store, now: Date.now, observe: () => {}, author: commandAuthor() })
  const { application, partners } = await createDemoWorld(administration)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  let requests = 0
  await makeTraffic(address, { partners }, async () => {
    if (++requests > REQUESTS) await app.close()
  })

  const events = lines.map((line) => JSON.parse(line))
  const said = (message: string, { clientId }: { clientId: string }) =>
    events.filter(({ msg, client_id }) => msg === message && client_id === clientId)
  for (const partner of partners.busy) {
    t.ok(said('token issued', partner).length > 0)
    t.strictSame(said('token refused', partner), [])
  }
  t.match(said('token refused', partners.notApproved), [{ reason: 'application not approved' }])
  t.match(said('authentication refused', partners.suspended), [{ reason: 'suspended application' }])
  t.match(said('authentication refused', partners.wrongSecret), [{ reason: 'wrong secret' }])
  t.equal(said('token issued', partners.wrongSecret).length, 1, 'it had the right secret before')
  t.ok(events.some(({ reason }) => reason === 'malformed token'))
  t.notOk(
    events.some(({ client_id }) => client_id === application.clientId),
    "the newcomer's application is left alone",
  )
})

t.test('Demo: changing a partner changes the answers that it gets', async (t) => {
  const { app, store, lines } = await createWorld(t)
  const administration = createAdministration({ store, now: Date.now, observe: () => {}, author: commandAuthor() })
  const { partners } = await createDemoWorld(administration)
  const [partner] = partners.busy
  await administration.applications.suspend(partner?.clientId as string)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  let requests = 0
  await makeTraffic(address, { partners }, async () => {
    if (++requests > REQUESTS) await app.close()
  })
  const events = lines.map((line) => JSON.parse(line)).filter(({ client_id }) => client_id === partner?.clientId)
  t.ok(events.length > 0)
  for (const event of events) t.match(event, { msg: 'authentication refused', reason: 'suspended application' })
})
