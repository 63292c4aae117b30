import type { ServerResponse } from 'node:http'
import { createGatewayWorld, SUITES, startGateway, testEachGateway } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'

testEachGateway('it fails closed when the token server is down', async (t, gateway) => {
  const world = await createGatewayWorld(t, gateway)
  const accessToken = await world.token()
  const { gateway: front } = world
  const headers = { authorization: `Bearer ${accessToken}` }
  t.equal((await front.send('/store', { headers })).status, 200)
  world.app.server.closeAllConnections()
  await world.app.close()
  for (const suite of SUITES) {
    t.match((await front.send(`/${suite}`, { headers })).status, /^50[023]$/)
    t.match((await front.send(`/${suite}`)).status, /^50[023]$/)
    t.match((await front.send(`/${suite}`, { headers: { 'x-access-token': accessToken } })).status, /^50[023]$/)
  }
  t.equal(front.reached(), 1)
  t.notMatch(front.log(), accessToken, 'no token is in its log')
})

testEachGateway('it fails closed when the token server gives any other answer, or none', async (t, gateway) => {
  const current = { answer: (_: ServerResponse) => {} }
  const tokenServer = await startRecorder(t, (response) => current.answer(response))
  const front = await startGateway(t, gateway, tokenServer.address)
  const headers = { authorization: 'Bearer abc' }
  const location = `http://${tokenServer.address}/`
  for (const status of [301, 302, 307, 404, 405, 408, 418, 429, 431, 500, 502, 503, 504]) {
    current.answer = (response) => response.writeHead(status, { location, 'x-client-id': 'a' }).end()
    t.equal((await front.send('/store', { headers })).status, 503, String(status))
  }
  current.answer = (response) => response.destroy()
  t.match((await front.send('/store', { headers })).status, /^50[023]$/, 'a connection that breaks off')
  current.answer = (response) => response.socket?.end('SECRET nonsense\r\n\r\n')
  t.match((await front.send('/store', { headers })).status, /^50[023]$/, 'no HTTP')
  t.equal(front.reached(), 0)
})

testEachGateway("the suite's own 4xx and 5xx come back unchanged", async (t, gateway) => {
  const { gateway: front, token } = await createGatewayWorld(t, gateway)
  const authorization = `Bearer ${await token()}`
  for (const status of [201, 302, 400, 401, 403, 404, 500, 502, 503]) {
    const answer = await front.send('/store/x', { headers: { authorization, 'x-answer-with': String(status) } })
    t.match(answer, { status, headers: { 'www-authenticate': 'Suite' }, body: 'from the suite' })
  }
})
