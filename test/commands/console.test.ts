import t, { type Test } from 'tap'
import { createSignIn } from '../../src/administration/sign-in.ts'
import { parseDatabaseUrl } from '../../src/domain/database-location.ts'
import { openStore } from '../../src/store/open.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** A database with these operators, and the command that prints links. */
async function startConsole(t: Test, ...operators: string[]) {
  const { env } = temporaryDatabase(t)
  for (const name of operators) await runJson(['operators', 'add', name, '--role', 'admin', '--create'], { env })
  /** Runs the command with this ADMIN_ADDRESS. */
  const at = (
    ADMIN_ADDRESS: string,
    { args = [] as string[], ...more }: { args?: string[]; ADMIN_URL?: string } = {},
  ) => run(['console', ...args], { env: { ...env, ADMIN_ADDRESS, ...more } })
  return { env, at }
}

t.test('Console: the link signs the operator in, once', async (t) => {
  const { env } = await startConsole(t, 'anna', 'bert')
  const options = { env: { ...env, ADMIN_ADDRESS: '127.0.0.1:8081' } }
  const { operator, url, ends_at, forward } = await runJson(['console', 'bert'], options)
  t.match([operator, forward], ['bert', 'ssh -N -L 8081:127.0.0.1:8081 HOST'])
  const lasts = Date.parse(ends_at) - Date.now()
  t.ok(lasts > 5 * 60_000 && lasts <= 10 * 60_000)
  const [, code] = /^http:\/\/127\.0\.0\.1:8081\/login#(\w{44})$/.exec(url) ?? []

  const store = await openStore(parseDatabaseUrl(env.DATABASE_URL), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  const signIn = createSignIn({ store, now: Date.now, observe: () => {} })
  const from = { remoteAddress: '192.0.2.1', userAgent: 'Browser', requestId: 'r' }
  t.match(await signIn.logIn(code as string, from), { operator: { name: 'bert' } })
  t.equal(await signIn.logIn(code as string, from), 'used login link')
})

t.test('Console: the link has an address at which a browser can reach the listener', async (t) => {
  const { at } = await startConsole(t, 'anna')
  const entrances: [address: string, base: string, forward: string | undefined, url?: string][] = [
    ['127.0.0.1:8081', 'http://127.0.0.1:8081', '8081:127.0.0.1:8081'],
    ['localhost:9000', 'http://localhost:9000', '9000:localhost:9000'],
    ['[::1]:8081', 'http://[::1]:8081', '8081:[::1]:8081'],
    ['0.0.0.0:8081', 'http://127.0.0.1:8081', '8081:127.0.0.1:8081'],
    ['[::]:8081', 'http://[::1]:8081', '8081:[::1]:8081'],
    ['[0::0]:8081', 'http://[::1]:8081', '8081:[::1]:8081'],
    ['127.0.0.1:8081', 'https://console.example', undefined, 'https://console.example'],
    ['unix:/run/admin.sock', 'https://console.example:8443', undefined, 'https://console.example:8443'],
  ]
  for (const [address, base, forward, ADMIN_URL] of entrances) {
    const { out } = await at(address, ADMIN_URL === undefined ? {} : { ADMIN_URL })
    const [url = '', , sentence, ...rest] = out.split('\n')
    t.equal(url.split('#')[0], `${base}/login`)
    t.match(sentence, /^It signs in anna once, until \S+Z\.$/)
    t.equal(/^ {2}ssh -N -L (.+) HOST$/m.exec(rest.join('\n'))?.[1], forward)
  }
})

t.test(
  'Console: if the listener cannot be reached from this machine, the command to forward a port comes first',
  async (t) => {
    const { at } = await startConsole(t, 'anna')
    const entrances = {
      '127.0.0.2:9000': '9000:127.0.0.2:9000',
      '192.0.2.1:8081': '8081:192.0.2.1:8081',
      '[2001:db8::1]:8081': '8081:[2001:db8::1]:8081',
      'unix:/run/token-server/admin.sock': '8081:/run/token-server/admin.sock',
    }
    for (const [address, forward] of Object.entries(entrances)) {
      const [, command, , sentence, url = '', , last] = (await at(address)).out.split('\n')
      t.equal(command, `  ssh -N -L ${forward} HOST`)
      t.equal(sentence, 'Then open this link there:')
      t.equal(url.split('#')[0], `http://127.0.0.1:${forward.split(':')[0]}/login`)
      t.match(last, /^It signs in anna once, until \S+Z\.$/)
    }
  },
)

t.test('Console: if it cannot print a link, it says what to do', async (t) => {
  const none = await startConsole(t)
  await runJson(['suites', 'register', 'store', '--name', 'Store', '--create'], { env: none.env })
  t.match(await none.at('off'), { status: 1, err: /^There is no console: set ADMIN_ADDRESS, to 127\.0\.0\.1:8081/ })
  t.match(await none.at('127.0.0.1:8081'), { status: 1, err: /^There is no operator yet: "operators add/ })
  t.match(await none.at('127.0.0.1:8081', { args: ['anna'] }), { status: 1, err: /no operator with the name anna/ })
  const two = await startConsole(t, 'anna', 'bert')
  t.match(await two.at('127.0.0.1:8081'), { status: 1, err: 'Name one of them: anna, bert.\n' })
  t.match(await two.at('127.0.0.1:0', { args: ['anna'] }), { status: 1, err: /has the port 0/ })
})

t.test('Console: the link is never logged', async (t) => {
  const { at } = await startConsole(t, 'anna')
  const { out, events, err } = await at('127.0.0.1:8081')
  const code = /#(\w+)/.exec(out)?.[1] as string
  t.match(events, [{ msg: 'login link made', operator: 'anna', ends_at: /Z$/ }])
  t.notMatch(JSON.stringify([events, err]), code)
})
