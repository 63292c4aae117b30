import t from 'tap'
import { readConfig } from '../../src/config.ts'
import type { RefusalCount } from '../../src/domain/refusal.ts'
import { openStore } from '../../src/store/open.ts'
import { freePort } from '../support/free-port.ts'
import { startRecorder } from '../support/recorder.ts'
import { register } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(`why, on ${name}: the diagnosis comes first, then what is known, in words and as JSON`, async (t) => {
    const PORT = await freePort()
    const env = { ...(await createEnv(t)), PORT: String(PORT) }
    const { client_id } = await register(env)
    const lastAt = Date.now() - 200_000
    const refusal: RefusalCount = {
      clientId: client_id,
      isKnown: true,
      reason: 'application not approved',
      endpoint: '/v1/oauth/verify/:suite',
      suite: 'store',
      remoteAddress: '192.0.2.1',
      count: 17,
      firstAt: lastAt - 3_600_000,
      lastAt,
      requestId: 'r1',
      traceId: undefined,
    }
    const cut = client_id.slice(0, -1)
    const unknown = { ...refusal, clientId: `${cut.slice(0, 4)}... (31 characters)`, isKnown: false, suite: undefined }
    const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 2000 })
    await store.recordRefusals([refusal, { ...unknown, reason: 'unknown client', requestId: undefined }])
    await store.close()

    const { status, out } = await run(['why', client_id], { env })
    t.equal(status, 0)
    const [server, ...parts] = out.trimEnd().split('\n\n')
    t.match(server, /^No server answers at http:\/\/\S+ \(ECONNREFUSED\)\. .* run "token-server doctor"\.$/)
    t.equal(parts.length, 6)
    t.match(
      parts[0],
      /^Its tokens are refused, 17 times, first 63 min ago, last 3 min ago, from 192\.0\.2\.1\. It is not app/,
    )
    t.match(
      parts[1],
      new RegExp(
        `^client id +${client_id}\\nname +A \\(a@b\\.example\\)\\nstatus +active\\nsuites +none\\n` +
          'last token +none yet\\ntokens this hour +0$',
      ),
    )
    t.match(parts[2], /^secret +origin .*\n1 +generated .* not yet +active$/)
    t.match(
      parts[3],
      /^last refused +times +reason +endpoint +suite +address +request id\n3 min ago +17 +application not approved +\/v1\/oauth\/verify\/:suite +store +192\.0\.2\.1 +r1$/,
    )
    t.match(parts[4], /^Refusals show up after 5 seconds, tokens and uses of secrets after a minute\.$/)
    t.match(
      parts[5],
      /^Refused client ids that look like it:\nclient id .*\n\S+\.\.\. \(31 characters\) +3 min ago .* - +192\.0\.2\.1 +-$/,
    )

    const at = new Date(lastAt).toISOString()
    const { refusals_known_until, tokens_known_until, ...explanation } = await runJson(['why', client_id], { env })
    t.equal(Date.parse(refusals_known_until) - Date.parse(tokens_known_until), 55_000)
    t.ok(Math.abs(Date.now() - 60_000 - Date.parse(tokens_known_until)) < 30_000)
    t.match(explanation, {
      client_id,
      server: { is_ready: false, text: /^No server answers at / },
      diagnosis: parts[0],
      application: {
        client_id,
        status: 'active',
        suites: [],
        tokens_this_hour: 0,
        tokens_refused_this_hour: 0,
        secrets: [{}],
      },
      refusals: [
        { client_id, reason: 'application not approved', suite: 'store', count: 17, last_at: at, request_id: 'r1' },
      ],
      similar_refusals: [{ client_id: unknown.clientId, suite: null, request_id: null, trace_id: null }],
      similar_applications: [],
      suite: null,
    })

    const mistyped = await run(['why', cut], { env })
    t.equal(mistyped.status, 0)
    t.match(
      mistyped.out,
      /^No server .*\n\nNo application has the client id .*\n\nRefused client ids that look like it:\n/,
    )
    t.match(
      mistyped.out,
      new RegExp(`\n\nApplications with nearly the same client id:\nclient id +name\n${client_id} +A\n$`),
    )
    t.match(await runJson(['why', cut], { env }), {
      application: null,
      similar_applications: [{ client_id, name: 'A' }],
    })

    t.match(await run(['why', 'nobody'], { env }), {
      status: 1,
      out: '',
      err: /^There is no application with the client id nobody, .* Look for its name in "applications list"\.\n$/,
    })
  })

  t.test(`why, on ${name}: of a suite its secrets and refusals are shown`, async (t) => {
    const env = { ...(await createEnv(t)), PORT: '0' }
    await runJson(['suites', 'register', 'store', '--name', 'Store API', '--create'], { env })
    const [lastAt, requestId] = [Date.now() - 200_000, 'r1']
    const refusal: RefusalCount = {
      clientId: 'store',
      isKnown: true,
      reason: 'wrong secret',
      endpoint: '/v1/oauth/introspect',
      suite: undefined,
      remoteAddress: '192.0.2.1',
      count: 17,
      firstAt: lastAt,
      lastAt,
      requestId,
      traceId: undefined,
    }
    const broken = { ...refusal, clientId: '\r\nst... (7 characters)', isKnown: false, reason: 'unknown client' }
    const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 2000 })
    await store.recordRefusals([refusal, broken])
    await store.close()

    const { status, out } = await run(['why', 'store'], { env })
    t.equal(status, 0)
    const parts = out.trimEnd().split('\n\n')
    t.equal(parts.length, 5)
    t.match(parts[0], /^store is a suite: .* Its requests are refused, 17 times, .*"secrets rotate store"/)
    t.match(parts[1], /^secret +origin .*\n1 +generated .* not yet +active$/)
    t.match(parts[2], /^last refused .*\n3 min ago +17 +wrong secret +\/v1\/oauth\/introspect +- +192\.0\.2\.1 +r1$/)
    t.match(parts[3], 'Refusals show up after 5 seconds')
    t.match(
      parts[4],
      /^Refused client ids that look like it:\nclient id .*\n\\u000d\\u000ast\.\.\. \(7 characters\) +3 min/,
    )
    t.match(await runJson(['why', 'store'], { env }), {
      application: null,
      suite: { id: 'store', name: 'Store API', secrets: [{ id: 1, state: 'active' }] },
      refusals: [{ client_id: 'store', reason: 'wrong secret', count: 17, request_id: requestId }],
      similar_refusals: [{ client_id: broken.clientId }],
    })
  })

  t.test(`why, on ${name}: where nothing was refused, and where a quota was`, async (t) => {
    const env = { ...(await createEnv(t)), PORT: '0' }
    const { client_id } = await register(env)
    const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 2000 })
    const [application] = await store.listApplications({ limit: 1 })
    const applicationKey = application?.key as NonNullable<typeof application>['key']
    const time = Date.now()
    const hour = Math.floor(time / 3_600_000)
    // Also of the next hour, which may begin meanwhile.
    const counts = [hour, hour + 1].map((hour) => ({ applicationKey, hour, issued: 5, refused: 2, lastTokenAt: time }))
    await store.addTokenCounts(counts)
    await store.close()
    const { out } = await run(['why', client_id], { env })
    t.match(out, /^The last token was issued \d+ s ago, and nothing was refused\./)
    t.match(out, /\nlast token +\d+ s ago, at 20.*Z\ntokens this hour +5, and 2 refused by the quota\n/)
    t.match(out, /\n\nNo refusal of it is known\.\n\n/)
    t.match(await runJson(['why', client_id], { env }), { server: { is_ready: null, text: /^PORT is 0/ } })
  })
}

t.test(
  'why: a server that is not ready is the first thing that is said; of one that is ready nothing is',
  async (t) => {
    const { address } = await startRecorder(t, (response) => {
      response.statusCode = status
      response.end()
    })
    const [HOST, PORT] = address.split(':')
    const env = { ...(await SQLITE.createEnv(t)), HOST, PORT }
    const { client_id } = await register(env)
    let status = 503
    const { out } = await run(['why', client_id], { env })
    t.match(
      out,
      new RegExp(
        `^The server at http://${address} is not ready\\. .*"token-server doctor"\\.\n\nNothing has been asked`,
      ),
    )
    t.match(await runJson(['why', client_id], { env }), { server: { is_ready: false, text: /is not ready\.$/ } })
    status = 200
    t.match((await run(['why', client_id], { env })).out, /^Nothing has been asked/)
    t.match(await runJson(['why', client_id], { env }), { server: { is_ready: true, text: /is ready\.$/ } })
  },
)
