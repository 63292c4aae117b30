import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { ENDPOINTS } from '../../../src/domain/refusal.ts'
import { measuredAnswer } from '../../../src/http/wire/measured-answers.ts'
import type { Measured } from '../../../src/listener/pipeline.ts'
import { CHECKS } from '../../../src/telemetry/metrics/catalogue.ts'
import { formHead, listening, said, statuses } from '../../support/listening.ts'
import { until } from '../../support/until.ts'
import { createWorld, createWorldOfSuites } from '../../support/world.ts'

const CHECK = 'GET /v1/oauth/verify HTTP/1.1\r\nHost: a\r\n\r\n'
const LAST = 'GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** A public port, and what is measured of its requests: endpoint, and status or `abandoned`. */
async function createDoor(t: Test) {
  const world = await createWorld(t, { counts: true })
  const ofRequests = (event: Event) => event.type === 'request answered' || event.type === 'request abandoned'
  return {
    ...world,
    ...(await listening(t, world.app)),
    requests: () =>
      world.measured
        .filter(ofRequests)
        .map((event) => `${event.endpoint} ${event.type === 'request answered' ? event.status : 'abandoned'}`),
    seconds: () => world.measured.filter(ofRequests).map(({ seconds }) => seconds),
  }
}

t.test('Measured answers: each is reported once, with its route pattern, status and duration', async (t) => {
  const { exchange, requests, seconds } = await createDoor(t)
  const get = (path: string) => CHECK.replace('/v1/oauth/verify', path)
  const noHost = 'GET /v1/oauth/verify HTTP/1.1\r\n\r\n'
  await exchange(CHECK + get('/v1/oauth/verify/S3CR3T') + get('/S3CR3T') + get('/v1/%ff') + noHost + LAST)
  const checks = ['/v1/oauth/verify 401', '/v1/oauth/verify/:suite 404']
  t.strictSame(requests(), [...checks, 'other 404', 'other 400', '/v1/oauth/verify 400', '/health/live 200'])
  for (const took of seconds()) t.ok(Number(took) > 0 && Number(took) < 60, String(took))
})

t.test('Measured answers: invalid HTTP has no duration; a request that breaks off in its body has one', async (t) => {
  const { exchange, requests, seconds, measured } = await createDoor(t)
  t.strictSame(statuses(await exchange(`${CHECK}nonsense\r\n\r\n`)), [401, 400])
  t.strictSame(requests().sort(), ['/v1/oauth/verify 401', 'other 400'])
  t.equal(seconds().filter((took) => took === undefined).length, 1)
  measured.length = 0
  t.strictSame(statuses(await exchange(`${formHead()}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`)), [400])
  t.strictSame(requests(), ['/v1/oauth/accesstoken 400'])
  t.ok(Number(seconds()[0]) > 0)
})

t.test('Measured answers: a request is abandoned if the client disconnects before its answer, not after', async (t) => {
  const { app, dial, dialed, requests, seconds, store } = await createDoor(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  Object.assign(store, { ping: () => promise })
  const connection = await dial('GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(app.server, 'request')
  connection.resetAndDestroy()
  await until(() => requests().length > 0)
  t.strictSame(requests(), ['/health/ready abandoned'])
  t.ok(Number(seconds()[0]) > 0)
  resolve()
  t.match(await said(await dial(LAST)), /200 OK/)
  const { socket, served } = await dialed()
  socket.write(CHECK)
  await once(socket, 'data')
  socket.destroy()
  await until(() => served.destroyed)
  t.strictSame(requests(), ['/health/ready abandoned', '/health/live 200', '/v1/oauth/verify 401'], 'each once')
})

t.test('Measured answers: each reports only its first result', async (t) => {
  const said: string[] = []
  const Answer = measuredAnswer(({ type }) => void said.push(type))
  const [first, second] = [0, 1].map(() => new Answer(new IncomingMessage(new Socket())) as unknown as Measured)
  for (const status of [undefined, 200]) first?.report(status)
  for (const status of [200, undefined]) second?.report(status)
  t.strictSame(said, ['request abandoned', 'request answered'])
})

t.test('Measured answers: only checks that pass are counted, at exactly the endpoints of CHECKS', async (t) => {
  const { measured, token, post, basic } = await createWorldOfSuites(t, { counts: true })
  const accessToken = await token()
  for (const url of ENDPOINTS) {
    measured.length = 0
    for (const sent of [accessToken, 'nonsense'])
      for (const authorization of [basic, `Bearer ${sent}`])
        await post({ token: sent }, { authorization }, url.replace(':suite', 'store'))
    t.equal(measured.filter(({ type }) => type === 'check passed').length, CHECKS.includes(url) ? 1 : 0, url)
  }
})
