import t from 'tap'
import { registerImported } from '../support/imported.ts'
import { createWorld } from '../support/world.ts'

t.test('Failures: a private address that makes up X-Forwarded-For and client ids leaves room for others', async (t) => {
  const { app, store } = await createWorld(t)
  for (let n = 0; n < 8; n++) await registerImported(store, `moved-${n}`, 'legacy-secret')
  const status = async (client_id: string, remoteAddress: string) => {
    const form = { grant_type: 'client_credentials', client_id, client_secret: 'legacy-secret' }
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': client_id }
    const payload = new URLSearchParams(form).toString()
    return (await app.inject({ method: 'POST', url: '/v1/oauth/accesstoken', headers, payload, remoteAddress }))
      .statusCode
  }
  const made = Array.from({ length: 100 }, (_, n) => status(`made-up-${n}`, '10.0.0.1'))
  const good = Array.from({ length: 8 }, (_, n) => status(`moved-${n}`, n < 4 ? '10.0.0.1' : `192.0.2.${n}`))
  t.strictSame(await Promise.all(good), Array(8).fill(200))
  t.ok((await Promise.all(made)).includes(503))
})
