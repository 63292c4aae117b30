import { once } from 'node:events'
import t, { type Test } from 'tap'
import { textOf } from '../support/pages.ts'
import { start } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** Starts `demo` and waits for what it says. */
async function startDemo(t: Test, env: NodeJS.ProcessEnv) {
  const child = start(t, ['demo'], env)
  let out = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => (out += chunk))
  await until(() => out.includes('nonsense'))
  return { child, out, all: () => out }
}

/** Signs in with a one-time link. Resolves to a function that fetches pages of the console. */
async function openConsole(link: string) {
  const { origin, hash } = new URL(link)
  const body = new URLSearchParams({ code: hash.slice(1) })
  const answer = await fetch(`${origin}/login`, { method: 'POST', body, headers: { origin }, redirect: 'manual' })
  const cookie = String(answer.headers.get('set-cookie')).split(';')[0] as string
  return async (path: string) => (await fetch(origin + path, { headers: { cookie } })).text()
}

t.test('Demo: it prints a login link and a curl command that gets a token, whatever the settings', async (t) => {
  const { env } = temporaryDatabase(t)
  const demo = await startDemo(t, { ...env, HOST: '0.0.0.0' })
  const [, url, body] = /curl -s (\S+) \\\n +-d '([^']+)'/.exec(demo.out) ?? []
  t.match(url, /^http:\/\/127\.0\.0\.1:/)
  const answer = await fetch(url as string, { method: 'POST', body: new URLSearchParams(body) })
  const { access_token, ...rest } = (await answer.json()) as Record<string, string>
  t.match(rest, { token_type: 'bearer', application_name: 'Demo application (for you to try)' })
  const checks = [...demo.out.matchAll(/curl -i (\S+) *(?:-H (?:"([^"]+)"|'([^']+)'))?$/gm)]
  const statuses = checks.map(async ([, address, valid, invalid]) => {
    const authorization = (valid ?? invalid)?.replace('$TOKEN', access_token as string).replace('Authorization: ', '')
    return (await fetch(address as string, { headers: authorization ? { authorization } : {} })).status
  })
  t.strictSame(await Promise.all(statuses), [200, 401, 401], 'and shows one request let through and two refused')

  const [link = ''] = /http:\S+#\S+/.exec(demo.out) ?? []
  const pages = await openConsole(link)
  t.match(await pages('/applications'), /Warehouse scanner/, 'its first link leads to a console')
  t.match(await pages('/audit'), /Application suspended/)
  t.match(textOf(await pages('/')), 'This is a demo.')
  t.match(textOf(await pages('/login')), 'Press Enter in the terminal where the demo runs')
  await until(async () => /wrong secret/.test(await pages('/')))
  const mine = `/applications/${new URLSearchParams(body).get('client_id')}`
  await until(async () => !/Last token never/.test(textOf(await pages(mine))))
  t.notMatch(demo.out, /Enter/, 'no hint to press Enter without a terminal')

  const second = await startDemo(t, env)
  t.notMatch(second.out, `${url} `, 'a second one finds a port of its own')
  for (const { child, all } of [demo, second]) {
    child.kill('SIGTERM')
    t.strictSame(await once(child, 'close'), [0, null])
    t.match(all(), /\nStopped\. Everything in the demo is gone\.\n$/)
  }
})
