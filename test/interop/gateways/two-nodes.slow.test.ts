import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../support/free-port.ts'
import { EXAMPLES, PATH, untilItAnswers } from '../../support/gateways.ts'
import { needs } from '../../support/needs.ts'
import { startPostgres } from '../../support/postgres/postgres.ts'
import { send } from '../../support/send.ts'
import { register, startServer } from '../../support/spawn.ts'
import { until } from '../../support/until.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const skip = needs('haproxy')

t.test('haproxy, two nodes: both get requests, and one that is killed loses none', { skip }, async (t) => {
  const { nodes, front } = await startTwoNodes(t)
  await until(async () => {
    await front.token({ 'x-forwarded-for': '192.0.2.66' })
    return nodes.every((node) => node.logged('token issued').length > 0)
  })
  const [line] = nodes[0].logged('token issued')
  t.equal(line.remote_address, '127.0.0.1', 'whatever the client says of itself')

  const clients = Array.from({ length: 8 }, async () => {
    for (let n = 0; n < 20; n++) t.equal((await front.token()).status, 200)
  })
  nodes[0].child.kill('SIGKILL')
  await Promise.all(clients)
})

t.test("haproxy, two nodes: a gateway's id of a request is kept, and what has none gets one", { skip }, async (t) => {
  const { nodes, front } = await startTwoNodes(t)
  for (const [headers, id] of [
    [{ 'x-request-id': 'of-a-gateway' }, /^of-a-gateway$/],
    [{}, /^[0-9a-f-]{36}$/],
    [{ 'x-request-id': 'is none' }, /^[0-9a-f]{20}$/],
  ] as const) {
    const answer = await front.token(headers)
    const told = String(answer.headers['x-request-id'])
    t.match(told, id)
    const lines = () => nodes.flatMap((node) => node.logged('token issued'))
    await until(() => lines().some(({ request_id }) => request_id === told))
    await until(() => front.said().includes(` ${told}\n`))
  }
  for (const { child } of nodes) child.kill('SIGKILL')
  await until(() => front.said().includes("backend 'ready' has no server available"))
  const { status, headers } = await front.token()
  t.equal(status, 503)
  await until(() => front.said().includes(` ${headers['x-request-id']}\n`))
})

t.test('haproxy, two nodes: where none is ready a node answers, later with a token', { skip }, async (t) => {
  const { postgres, nodes, front } = await startTwoNodes(t)
  const { access_token } = JSON.parse((await front.token()).body)
  const check = () => send(front.address, '/v1/oauth/verify', { headers: { authorization: `Bearer ${access_token}` } })
  nodes[0].child.kill('SIGKILL')
  await postgres.kill()
  await until(() => front.said().includes("backend 'ready' has no server available"))
  for (let n = 0; n < 5; n++) {
    for (const answer of [await front.token(), await check()]) {
      t.match(answer, { status: 503, headers: { 'retry-after': '5' } })
      t.match(JSON.parse(answer.body), { error: 'temporarily_unavailable' })
    }
  }
  await postgres.start()
  await until(async () => (await front.token()).status === 200)
  t.equal((await check()).status, 200)
})

/** Two nodes on one PostgreSQL, and HAProxy with the example in front of them. */
async function startTwoNodes(t: Test) {
  const postgres = await startPostgres(t)
  const env = { DATABASE_URL: await postgres.createDatabase(), TRUST_PROXY: '127.0.0.1' }
  const credentials = await register(env)
  const nodes = [await startServer(t, env), await startServer(t, env)] as const
  const address = `127.0.0.1:${await freePort()}`
  const [NODE_1, NODE_2] = nodes.map((node) => new URL(node.address).host)
  const haproxy = spawn('haproxy', ['-db', '-f', join(EXAMPLES, 'haproxy/haproxy.cfg')], {
    env: { PATH, GATEWAY: address, NODE_1, NODE_2 },
  })
  const said = await untilItAnswers(t, haproxy, 200, () => send(address, '/health/ready'))
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials }).toString()
  return {
    postgres,
    nodes,
    front: {
      said,
      address,
      token: (headers = {}) =>
        send(address, '/v1/oauth/accesstoken', { method: 'POST', headers: { ...FORM, ...headers }, body }),
    },
  }
}
