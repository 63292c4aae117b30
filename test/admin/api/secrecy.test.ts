import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createApiWorld } from '../../support/api.ts'
import { registrationJson } from '../../support/registration.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

t.test('API: a secret appears only in the response that creates it: in no other response, log or file', async (t) => {
  const folder = temporaryFolder(t)
  const { call, routes, keys, lines } = await createApiWorld(t, { DATABASE_URL: `sqlite:${join(folder, 'store.db')}` })
  const secrets = Object.values(keys)
  const answers: string[] = []
  async function make(path: string, json?: object): Promise<void> {
    for (let n = 0; n < 2; n++) {
      const { body, headers } = await call('POST', path, { json, headers: { 'idempotency-key': `key-of ${path}` } })
      const { client_secret, ...rest } = body
      t.equal(headers['idempotent-replayed'] === 'true', n === 1, `${path}: the second is the answer of the first`)
      if (n === 0) secrets.push(client_secret)
      answers.push(JSON.stringify(rest) + JSON.stringify(headers))
    }
  }
  const registration = registrationJson({ client_id: 'x', developer_email: 'dev@partner.example' })
  await make('/suites', { id: 'store', name: 'Store' })
  await make('/applications', registration)
  await make('/suites/store/secrets')
  await make('/applications/x/secrets', { overlap_seconds: 60 })
  t.equal(secrets.length, 6)

  const [, , , secret] = secrets
  const wrong = [`/applications/${secret}`, `/applications/x/diagnosis?secret=${secret}`, `/${secret}`]
  for (const path of wrong) await call('GET', path)
  await call('POST', '/applications', { json: { ...registration, client_secret: secret } })
  const headers = { 'content-type': 'application/json' }
  await call('POST', '/applications', { payload: `{"client_secret":"${secret}"`, headers })
  const reads = routes.filter(({ method, url }) => method === 'GET' && url.startsWith('/admin/v1/'))
  for (const { path } of reads) {
    const target = path.replace('/suites/x', '/suites/store').replace('/operators/x', '/operators/anna')
    answers.push(JSON.stringify(await call('GET', target.replace('/admin/v1', ''))))
  }
  t.ok(answers.some((answer) => answer.includes('audit_events')))
  await call('DELETE', '/applications/x')

  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
  t.ok(files.some((file) => file.includes('dev@partner.example')))
  t.equal(lines.length, 5)
  const all = [...answers, ...lines, ...files]
  for (const secret of secrets) t.notOk(all.some((text) => text.includes(secret)))
  for (const answer of answers) t.notMatch(answer, /\$sha256\$|digest/)
})
