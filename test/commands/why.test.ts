import t, { type Test } from 'tap'
import type { RefusalCount } from '../../src/domain/refusal.ts'
import { openStore } from '../../src/store/open.ts'
import { freePort } from '../support/free-port.ts'
import { startRecorder } from '../support/recorder.ts'
import { refusal } from '../support/refusal.ts'
import { shell, startShell } from '../support/shell.ts'

const ID = 'fGRB0YkSbeqKmtSvwMb7Sfa1sR97KK3Z'

/** A refusal of 3 minutes ago. */
function refusalOf(clientId: string): RefusalCount {
  const lastAt = Date.now() - 185_000
  const what = { reason: 'application not approved', endpoint: '/v1/oauth/verify/:suite', suite: 'store' }
  return refusal(clientId, { ...what, count: 17, firstAt: lastAt - 3_600_000, lastAt, requestId: 'r1' })
}

/** Commands on a database with the application and the suite `store`, for a server on this port. */
async function startWhy(t: Test, refusals: RefusalCount[], PORT: number) {
  const { env, file } = await startShell(t, async ({ applications, suites }) => {
    await suites.register({ suiteId: 'store', name: 'Store' })
    await applications.register({ clientId: ID, suites: 'all' })
  })
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 2000 })
  await store.recordRefusals(refusals)
  t.teardown(() => store.close())
  return { env, store, ...shell({ ...env, PORT: String(PORT) }) }
}

t.test('why: the diagnosis comes first, then what is known, in words and as JSON', async (t) => {
  const one = refusalOf(ID)
  const similar = { ...one, clientId: 'fGRB... (31 characters)', isKnown: false, suite: undefined }
  const refusals = [one, { ...similar, reason: 'unknown client', requestId: undefined }]
  const { run, json } = await startWhy(t, refusals, await freePort())
  await run(`apps withdraw ${ID} --suite store`)
  const { status, out } = await run(`why ${ID}`)
  t.equal(status, 0)
  const parts = out.trimEnd().split('\n\n')
  t.equal(parts.length, 7)
  t.match(parts, [
    /^No server answers at http:\/\/\S+ \(ECONNREFUSED\)\. .* run "token-server doctor"\.$/,
    /^Its tokens are refused, 17 times, first 63 min ago, last 3 min ago, from 192\.0\.2\.1\. It is not app/,
    /^client id +fG\w+\nname +A \(a@b\.example\)\nstatus +active\nsuites +none\nlast token +none yet\ntokens in the last hour +0, in the hour before 0$/,
    /^secret +origin .*\n\d +generated .* not yet +active$/,
    /^last refused +times +reason +endpoint +suite +address +request id\n3 min ago +17 +application not approved +\/v1\/oauth\/verify\/:suite +store +192\.0\.2\.1 +r1$/,
    /^Refusals show up within 5 seconds, tokens and uses of secrets within a minute\.$/,
    /^Refused client ids that look like it:\nclient id .*\n\S+\.\.\. \(31 characters\) +3 min ago .* - +192\.0\.2\.1 +-$/,
  ])

  const { refusals_known_until, tokens_known_until, ...explanation } = await json(`why ${ID}`)
  t.equal(Date.parse(refusals_known_until) - Date.parse(tokens_known_until), 55_000)
  t.match(explanation, {
    client_id: ID,
    server: { is_ready: false, text: /^No server answers at / },
    diagnosis: parts[1],
    application: { client_id: ID, status: 'active', suites: [], tokens_this_hour: 0, secrets: [{}] },
    refusals: [{ client_id: ID, suite: 'store', count: 17, last_at: new Date(one.lastAt).toISOString() }],
    similar_refusals: [{ client_id: similar.clientId, suite: null, request_id: null, trace_id: null }],
    similar_applications: [],
    suite: null,
  })

  const mistyped = await run(`why ${ID.slice(0, -1)}`)
  t.equal(mistyped.status, 0)
  t.match(mistyped.out, /^No server .*\n\nNo application has the client id .*\n\nRefused client ids that look like/)
  t.match(mistyped.out, /\n\nApplications with nearly the same client id:\nclient id +name\nfG\w+3Z +A\n$/)
  const similarApplications = [{ client_id: ID, name: 'A' }]
  t.match(await json(`why ${ID.slice(0, -1)}`), { application: null, similar_applications: similarApplications })
  const names = '--name B --developer-email a@b.example'
  for (let n = 0; n < 11; n++) await run(`apps register --client-id ${ID.slice(0, -1)}${n} ${names}`)
  const ten = /\n\nApplications with nearly the same client id:\nclient id +name\n(\S+ +[AB]\n){10}and 2 more\n$/
  t.match((await run(`why ${ID.slice(0, -1)}`)).out, ten)
  const err = /^No application has the client id nobody, .* Look for the application in "applications list"\.\n$/
  t.match(await run('why nobody'), { status: 1, out: /^$/, err })
})

t.test('why: of a suite its secrets and refusals are shown', async (t) => {
  const one = { ...refusalOf('store'), reason: 'wrong secret', endpoint: '/introspect', suite: undefined }
  const broken = { ...one, clientId: '\r\nst... (7 characters)', isKnown: false, reason: 'unknown client' }
  const { run, json } = await startWhy(t, [one, broken], 0)
  const parts = (await run('why store')).out.trimEnd().split('\n\n')
  t.equal(parts.length, 5)
  t.match(parts, [
    /^store is a suite: .* Its requests are refused, 17 times, .*"secrets rotate store"/,
    /^secret +origin .*\n\d +generated .* not yet +active$/,
    /^last refused .*\n3 min ago +17 +wrong secret +\/introspect +- +192\.0\.2\.1 +r1$/,
    'Refusals show up within 5 seconds',
    /^Refused client ids that look like it:\nclient id .*\n\\u000d\\u000ast\.\.\. \(7 characters\) +3 min/,
  ])
  t.match(await json('why store'), {
    application: null,
    suite: { id: 'store', name: 'Store', secrets: [{ state: 'active' }] },
    refusals: [{ client_id: 'store', reason: 'wrong secret', count: 17, request_id: 'r1' }],
    similar_refusals: [{ client_id: broken.clientId }],
  })
})

t.test('why: a server that is not ready is said first; then that nothing was refused, but for a quota', async (t) => {
  let status = 503
  const { address } = await startRecorder(t, (response) => {
    response.statusCode = status
    response.end()
  })
  const { env, store, run, json } = await startWhy(t, [], Number(address.split(':')[1]))
  const notReady = `^The server at http://${address} is not ready\\. .*"token-server doctor"\\.\n\nIt has not asked for a token`
  t.match((await run(`why ${ID}`)).out, new RegExp(notReady))
  t.match(await json(`why ${ID}`), { server: { is_ready: false, text: /is not ready\.$/ } })
  status = 200
  t.match((await run(`why ${ID}`)).out, /^It has not asked for a token/)
  t.match(await json(`why ${ID}`), { server: { is_ready: true, text: /is ready\.$/ } })

  const applicationKey = (await store.findApplication(ID))?.key as string & number
  const lastTokenAt = Date.now()
  // Also of the next hour, which may begin meanwhile.
  const hours = [0, 1].map((later) => Math.floor(lastTokenAt / 3_600_000) + later)
  await store.addTokenCounts(hours.map((hour) => ({ applicationKey, hour, issued: 5, refused: 2, lastTokenAt })))
  await store.addUsage([{ clientId: ID, tokens: 5, checks: 0, refusals: 0 }], lastTokenAt)
  const secretId = (await store.findApplication(ID))?.secrets[0]?.id as number
  await store.recordSecretUses([{ secretId, lastUsedAt: lastTokenAt - 10, lastUsedFrom: '192.0.2.7' }])
  const { out } = await run(`why ${ID}`)
  t.match(out, /^The last token was issued \d+ s ago, and nothing was refused\./)
  t.match(
    out,
    /\nlast token +\d+ s ago, at 20.*Z, from 192\.0\.2\.7 with secret \d+\ntokens in the last hour +5, in the hour before 0\nrefused by the quota +2 since \d\d:00 UTC\n/,
  )
  t.match(out, /\n\d+ +generated +\S+Z +20\S+Z from 192\.0\.2\.7 +active\n/)
  t.match(out, /\n\nNo refusals are known\.\n\n/)
  const unknown = await shell({ ...env, PORT: '0' }).json(`why ${ID}`)
  t.match(unknown, { server: { is_ready: null, text: /^PORT is 0/ } })
})
