import t from 'tap'
import { createApiWorld, type Method } from '../../support/api.ts'
import { START } from '../../support/world.ts'

const DAY = 24 * 3_600_000
const at = (time: number) => new Date(time).toISOString()

for (const [owners, registration] of [
  ['applications', { client_id: 'owner', name: 'Owner', developer_email: 'dev@partner.example' }],
  ['suites', { id: 'owner', name: 'Owner' }],
] as const) {
  const path = `/${owners}/owner/secrets`

  t.test(`API: the secrets of ${owners} are rotated with an overlap, listed and revoked`, async (t) => {
    const { call } = await createApiWorld(t)
    const { client_secret: first } = (await call('POST', `/${owners}`, { json: registration })).body
    const rotated = await call('POST', path, { json: { overlap_seconds: 3600 } })
    t.match(rotated, { status: 201, body: { client_id: 'owner', others_end_at: at(START + 3_600_000) } })
    t.match(rotated.body.client_secret, /^\w{40}$/)
    t.not(rotated.body.client_secret, first)
    const { secrets } = (await call('GET', path)).body
    t.match(secrets, [
      { state: 'active', ends_at: at(START + 3_600_000), revoked_at: null },
      { state: 'active', ends_at: null },
    ])
    const [{ id: old }, { id: last }] = secrets
    for (let n = 0; n < 2; n++) t.equal((await call('DELETE', `${path}/${old}`)).status, 204)
    t.match((await call('GET', path)).body.secrets, [{ state: 'revoked', revoked_at: at(START) }, { state: 'active' }])
    const refused = {
      status: 409,
      body: { detail: /last active one .* The query parameter for that is force=true\.$/ },
    }
    t.match(await call('DELETE', `${path}/${last}`), refused)
    t.equal((await call('DELETE', `${path}/${last}?force=false`)).status, 409)
    t.equal((await call('DELETE', `${path}/${last}?force=true`)).status, 204)
    t.match((await call('GET', path)).body.secrets, [{ state: 'revoked' }, { state: 'revoked' }])
  })

  t.test(`API: by default a rotation of ${owners} ends the other secrets after a day`, async (t) => {
    const { call } = await createApiWorld(t)
    await call('POST', `/${owners}`, { json: registration })
    const empty = { payload: '', headers: { 'content-type': 'application/json' } }
    for (const sent of [{}, { json: {} }, { json: null }, empty]) {
      t.equal((await call('POST', path, sent)).body.others_end_at, at(START + DAY))
    }
    t.equal((await call('POST', path, { json: { overlap_seconds: 0 } })).body.others_end_at, at(START))
    const year = 365 * 86_400
    t.equal((await call('POST', path, { json: { overlap_seconds: year } })).body.others_end_at, at(START + 365 * DAY))
    for (const overlap_seconds of [-1, 1.5, year + 1, '60', null]) {
      t.match(await call('POST', path, { json: { overlap_seconds } }), {
        status: 422,
        body: { errors: [{ pointer: '#/overlap_seconds' }] },
      })
    }
  })

  t.test(
    `API: unknown secrets of ${owners} are not found, nor are secrets under the wrong kind of owner`,
    async (t) => {
      const { call } = await createApiWorld(t)
      await call('POST', `/${owners}`, { json: registration })
      const others = owners === 'applications' ? 'suites' : 'applications'
      const unknown: [Method, string][] = [
        ['DELETE', `${path}/99`],
        ['DELETE', `${path}/0`],
        ['DELETE', `${path}/1e0`],
        ['DELETE', `${path}/99999999999999999999`],
        ['GET', `/${others}/owner/secrets`],
        ['POST', `/${others}/owner/secrets`],
        ['DELETE', `/${others}/owner/secrets/1`],
      ]
      for (const [method, target] of unknown) t.equal((await call(method, target)).status, 404, `${method} ${target}`)
      t.equal((await call('GET', path)).body.secrets.length, 1)
      t.match(await call('DELETE', `${path}/1?force=yes`), {
        status: 400,
        body: { detail: /force must be true or false/ },
      })
    },
  )
}
