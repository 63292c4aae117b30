import { once } from 'node:events'
import t, { type Test } from 'tap'
import { start } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** Starts `demo` and waits for what it says. */
async function startDemo(t: Test, env: NodeJS.ProcessEnv) {
  const child = start(t, ['demo'], env)
  let out = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => (out += chunk))
  await until(() => out.includes('client_secret='))
  return { child, out }
}

t.test('Demo: it prints a curl that gets a token, whatever settings there are', async (t) => {
  const { env } = temporaryDatabase(t)
  const demo = await startDemo(t, { ...env, HOST: '0.0.0.0' })
  const [, url, body] = /curl (\S+) \\\n +-d '([^']+)'/.exec(demo.out) ?? []
  t.match(url, /^http:\/\/127\.0\.0\.1:/)
  const answer = await fetch(url as string, { method: 'POST', body: new URLSearchParams(body) })
  const { access_token, ...rest } = (await answer.json()) as Record<string, string>
  t.match(rest, { token_type: 'bearer', application_name: 'Demo application' })
  const checks = [...demo.out.matchAll(/curl -i (\S+) *(?:-H (?:"([^"]+)"|'([^']+)'))?$/gm)]
  const statuses = checks.map(async ([, address, valid, invalid]) => {
    const authorization = (valid ?? invalid)?.replace('$TOKEN', access_token as string).replace('Authorization: ', '')
    return (await fetch(address as string, { headers: authorization ? { authorization } : {} })).status
  })
  t.strictSame(await Promise.all(statuses), [200, 401, 401], 'and shows one request let through and two refused')

  const second = await startDemo(t, env)
  t.notMatch(second.out, `${url} `, 'a second one finds a port of its own')
  for (const { child } of [demo, second]) {
    child.kill('SIGTERM')
    t.strictSame(await once(child, 'exit'), [0, null])
  }
})
