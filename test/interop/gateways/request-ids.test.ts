import { createGatewayWorld, testEachGateway, testEachHost } from '../../support/gateways.ts'
import { until } from '../../support/until.ts'

const FORGED = { 'x-request-id': 'forged-by-a-client', 'x-correlation-id': 'forged-too' }
const ID = /^[0-9a-f-]{32,36}$/

testEachGateway(
  "a client's request is found in the token server's log, the gateway's and the suite's",
  async (t, gateway) => {
    const { gateway: front, token, lines } = await createGatewayWorld(t, gateway)
    const authorization = `Bearer ${await token()}`
    const suite = () => front.last('store').headers['x-request-id']
    for (const [path, headers, status, line] of [
      ['/store/x', { authorization: 'Bearer x' }, 401, 'token refused'],
      ['/store/x', {}, 401, 'token refused'],
      ['/store/x', { authorization: 'Bearer a b' }, 400, 'request refused'],
      ['/product-information/x', { authorization }, 403, 'token refused'],
      ['/store/x', { authorization }, 200, undefined],
      ['/store/x/../y', { authorization }, 400, undefined],
      ['/', {}, 404, undefined],
    ] as const) {
      lines.length = 0
      const answer = await front.send(path, { headers: { ...headers, ...FORGED } })
      t.equal(answer.status, status)
      const id = String(answer.headers['x-request-id'])
      t.match(id, ID, `${path} ${status}`)
      t.strictSame(
        lines.map((text) => JSON.parse(text)).map(({ msg, request_id }) => [msg, request_id]),
        line ? [[line, id]] : [],
      )
      if (status === 200) t.equal(suite(), id)
      await until(() => front.log().includes(id))
    }
  },
)

testEachHost('a token request is found in the log of the token server', async (t, gateway) => {
  const { gateway: front, lines } = await createGatewayWorld(t, gateway, { oneHost: true })
  for (const [path, status] of [
    ['/v1/oauth/accesstoken', 400],
    ['/v1/oauth', 400],
  ] as const) {
    lines.length = 0
    const answer = await front.send(path, { method: 'POST', headers: FORGED, body: 'a=b' })
    t.equal(answer.status, status)
    const id = String(answer.headers['x-request-id'])
    t.match(id, ID)
    t.strictSame(
      lines.map((text) => JSON.parse(text).request_id),
      [id],
    )
    await until(() => front.log().includes(id))
  }
})
