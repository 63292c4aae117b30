import { CLIENT_HEADERS, createGatewayWorld, SUITES, startGateway, testEachGateway } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'
import { ID } from '../../support/suites.ts'
import { START } from '../../support/world.ts'

testEachGateway(
  'a valid token reaches the suite as the identity of its client, and the response comes back',
  async (t, gateway) => {
    const { gateway: front, administration, token, credentials } = await createGatewayWorld(t, gateway)
    await administration.approve(credentials.client_id, 'product-information')
    const headers = { authorization: `Bearer ${await token()}`, 'x-other': 'kept' }
    for (const suite of SUITES) {
      t.match(await front.send(`/${suite}/x?a=b&a=%20`, { headers }), { status: 200, body: 'from the suite' })
      const arrived = front.last(suite)
      t.match(arrived, {
        method: 'GET',
        url: `/${suite}/x?a=b&a=%20`,
        headers: {
          'x-client-id': credentials.client_id,
          'x-application-name': 'St%C3%B6re%20%E2%9C%93',
          'x-developer-email': 'developer@partner.example',
          'x-token-id': ID,
          'x-token-expires': String(START / 1000 + 3600),
          'x-other': 'kept',
        },
      })
      t.equal(arrived.headers.authorization, undefined, 'the suite gets no token')
    }
    t.equal(front.reached(), 2)
  },
)

testEachGateway(
  "the client's identity comes from the check, whatever the client's own headers say",
  async (t, gateway) => {
    const { gateway: front, token, credentials } = await createGatewayWorld(t, gateway)
    const authorization = `Bearer ${await token()}`
    const valid = await front.send('/store', { headers: { authorization } })
    t.equal(valid.status, 200)
    const real = front.last('store').headers

    const names = CLIENT_HEADERS.flatMap((name) => [
      name,
      name.toUpperCase(),
      name.replaceAll('-', '_'),
      name.replace('-', '_'),
      name.replaceAll('-', '.'),
    ])
    const forgeries: Record<string, string | string[]>[] = [
      Object.fromEntries(names.map((name) => [name, 'forged'])),
      Object.fromEntries(CLIENT_HEADERS.map((name) => [name, ['forged', 'forged again']])),
      Object.fromEntries(CLIENT_HEADERS.map((name) => [name, ''])),
      { connection: `close, ${CLIENT_HEADERS.join(', ')}` },
    ]
    for (const forged of forgeries) {
      t.equal((await front.send('/store', { headers: { authorization, ...forged } })).status, 200)
      const { headers, rawHeaders } = front.last('store')
      for (const name of CLIENT_HEADERS) t.equal(headers[name], real[name], name)
      const folded = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase().replace(/[._]/g, '-'))
      for (const name of CLIENT_HEADERS)
        t.equal(folded.filter((one) => one === name).length, 1, `${name} is there once`)
      t.notMatch(rawHeaders.join(), 'forged')
    }
    t.equal(real['x-client-id'], credentials.client_id)
    t.equal(front.reached(), 1 + forgeries.length)

    for (const forged of forgeries) t.equal((await front.send('/store', { headers: forged })).status, 401)
    t.equal(front.reached(), 1 + forgeries.length, 'without a token nothing of it gets through')
  },
)

testEachGateway('a header that the check leaves out is not taken from the client', async (t, gateway) => {
  const tokenServer = await startRecorder(t, (response) => response.end())
  const front = await startGateway(t, gateway, tokenServer.address)
  const forged = Object.fromEntries(CLIENT_HEADERS.map((name) => [name, 'forged']))
  t.equal((await front.send('/store', { headers: { authorization: 'Bearer abc', ...forged } })).status, 200)
  t.notMatch(front.last('store').rawHeaders.join(), 'forged')
})
