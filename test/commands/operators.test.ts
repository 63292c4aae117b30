import t, { type Test } from 'tap'
import { createSignIn } from '../../src/administration/sign-in.ts'
import { main } from '../../src/commands/program.ts'
import { isAdminKey } from '../../src/domain/operator.ts'
import { openStore } from '../../src/store/open.ts'
import { on } from '../support/on.ts'
import { expectAll, fails, misused, shell, startShell } from '../support/shell.ts'

/** Commands on a database with these operators. */
function startOperators(t: Test, ...names: string[]) {
  return startShell(t, async ({ operators }) => {
    for (const name of names) await operators.add(name, 'admin')
  })
}

async function openHere(t: Test, file: string) {
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 2000 })
  t.teardown(() => store.close())
  return store
}

t.test('Operators: they are added with a role, listed and removed', async (t) => {
  const { run } = await startShell(t)
  const events = [{ msg: 'operator added', operator: 'anna', role: 'admin', origin: 'command line' }]
  const out = /^The operator anna is added as admin\. Next: "console anna" or "operators key anna --expires 90d"\.\n$/
  await expectAll(t, { run }, [
    ['operators add anna --role admin --create', { out, events }],
    ['operators add ci --role viewer', { json: { name: 'ci', role: 'viewer', keys: [] } }],
    ['operators list', { json: [{ name: 'anna' }, { name: 'ci' }] }],
    ['operators list', /^operator +role +key +state +last used +email\nanna +admin +no key\nci +viewer +no key\n$/],
    ['operators add bert', misused(/required option '--role <role>'/)],
    ['operators add bert --role root', misused(/Allowed choices are admin, viewer/)],
    ['operators add a/b --role admin', fails(/^The name must be/)],
    ['operators key anna', misused(/required option '--expires <duration>'/)],
    ['operators key anna --expires 366d', misused(/at most 365d/)],
    ['operators key anna --expires 0', fails(/must expire/)],
    ['operators revoke-key anna one', misused(/must be a number/)],
    ['operators remove anna', /^The operator anna is removed\.\n$/],
    ['operators remove ci', { json: { name: 'ci', status: 'removed' } }],
    ['operators remove ci', fails(/^There is no operator with the name ci\.\n$/)],
  ])
})

t.test('Operators: a key is printed once with its expiry, listed without the key itself, and revoked', async (t) => {
  const { run, json } = await startOperators(t, 'anna')
  const { out, events } = await run('operators key anna --expires 90d')
  t.match(out, /^operator {3}anna\nkey {8}1\nadmin_key {2}otsa_\w{49}\nends_at {4}\S+Z\nThe key is shown only now/)
  t.match(events, [{ msg: 'operator key added', operator: 'anna', key_id: 1, ends_at: /Z$/ }])
  const before = Date.now()
  const { admin_key, ends_at, ...made } = await json('operators key anna --expires 12h')
  t.ok(isAdminKey(admin_key))
  t.strictSame(made, { operator: 'anna', id: 2 })
  const madeAt = Date.parse(ends_at) - 12 * 3_600_000
  t.ok(madeAt >= before && madeAt <= Date.now())

  await expectAll(t, { run }, [
    ['operators revoke-key anna 1', { json: { operator: 'anna', id: 1, status: 'revoked' } }],
    ['operators revoke-key anna 1', /^The key 1 of anna was already revoked\.\n$/],
    ['operators revoke-key anna 2', /^The key 2 of anna is revoked\.\n$/],
    ['operators revoke-key anna 3', fails(/has no key 3/)],
    ['operators key anna --expires 1s', {}],
    ['operators list', /\nanna +admin +1 +revoked at \S+Z +never\n.* 2 +revoked at .*\n.* 3 +(ends|expired) at /],
  ])
  const shown = JSON.stringify([events, await run('operators list'), await run('operators list --json')])
  for (const key of [admin_key, /admin_key +(\S+)/.exec(out)?.[1] as string]) t.notOk(shown.includes(key))
})

t.test('Operators: a key that could not be printed is reported as lost', async (t) => {
  const { env } = await startOperators(t, 'anna')
  let err = ''
  const status = await main(['operators', 'key', 'anna', '--expires', '90d'], {
    env,
    stdin: [] as never,
    stdout: { write: (_, done) => done?.(Object.assign(new Error('no space left'), { code: 'ENOSPC' })) },
    stderr: { write: (text) => (err += text) },
  })
  t.equal(status, 1)
  t.match(err, /The new key of anna is lost: "operators revoke-key anna 1" ends it\./)
})

t.test('Operators: their sessions are listed and ended', async (t) => {
  const { run, file } = await startOperators(t, 'anna')
  const store = await openHere(t, file)
  const times = { createdAt: Date.now(), endsAt: Date.now() + 600_000 }
  const from = { authenticatedAt: null, remoteAddress: '192.0.2.1', userAgent: 'Browser \u001b[2J' }
  for (const digest of ['one', 'two']) {
    await on(store).addLoginCode('anna', { digest, ...times })
    await on(store).beginSession('anna', digest, { digest, ...times, ...from })
  }
  const shown = { operator: 'anna', id: 1, remote_address: '192.0.2.1', user_agent: 'Browser \u001b[2J' }
  await expectAll(t, { run }, [
    ['operators sessions', { json: [shown, { ...shown, id: 2 }] }],
    ['operators end-session anna 1', /^The session 1 of anna is ended\.\n$/],
    ['operators end-session anna 1', fails(/^The operator anna has no session 1\.\n$/)],
    ['operators sessions', /^operator +session +began .*\nanna +2 .+Z +192\.0\.2\.1 +Browser \\u001b\[2J\n$/],
    ['operators end-session anna 2', { json: { operator: 'anna', id: 2, status: 'ended' } }],
    ['operators sessions', /^operator +session +began +last seen +address +browser\n$/],
  ])
})

t.test('Console: the link signs the operator in, once, and is never logged', async (t) => {
  const { env, file } = await startOperators(t, 'anna', 'bert')
  const { run } = shell({ ...env, ADMIN_ADDRESS: '127.0.0.1:8081' })
  const { out, err, events } = await run('console bert --json')
  const { operator, url, ends_at, forward } = JSON.parse(out)
  t.match([operator, forward], ['bert', 'ssh -N -L 8081:127.0.0.1:8081 HOST'])
  const lasts = Date.parse(ends_at) - Date.now()
  t.ok(lasts > 5 * 60_000 && lasts <= 10 * 60_000)
  const [, code = ''] = /^http:\/\/127\.0\.0\.1:8081\/login#(\w{44})$/.exec(url) ?? []
  t.match(events, [{ msg: 'login link made', operator: 'bert', ends_at: /Z$/ }])
  t.notOk(JSON.stringify([events, err]).includes(code))

  const signIn = createSignIn({ store: await openHere(t, file), now: Date.now, observe: () => {} })
  const from = { remoteAddress: '192.0.2.1', userAgent: 'Browser', requestId: 'r' }
  t.match(await signIn.logIn(code, from), { operator: { name: 'bert' } })
  t.equal(await signIn.logIn(code, from), 'used login link')
})

t.test('Console: the link has an address at which a browser can reach the listener', async (t) => {
  const { env } = await startOperators(t, 'anna')
  const here: [address: string, base: string, forward: string | undefined, url?: string][] = [
    ['127.0.0.1:8081', 'http://127.0.0.1:8081', '8081:127.0.0.1:8081'],
    ['localhost:9000', 'http://localhost:9000', '9000:localhost:9000'],
    ['[::1]:8081', 'http://[::1]:8081', '8081:[::1]:8081'],
    ['0.0.0.0:8081', 'http://127.0.0.1:8081', '8081:127.0.0.1:8081'],
    ['[::]:8081', 'http://[::1]:8081', '8081:[::1]:8081'],
    ['[0::0]:8081', 'http://[::1]:8081', '8081:[::1]:8081'],
    ['127.0.0.1:8081', 'https://console.example', undefined, 'https://console.example'],
    ['unix:/run/admin.sock', 'https://console.example:8443', undefined, 'https://console.example:8443'],
  ]
  const sentence = /^It signs in anna once, until \S+Z\.$/
  for (const [ADMIN_ADDRESS, base, forward, ADMIN_URL] of here) {
    const { out } = await shell({ ...env, ADMIN_ADDRESS, ...(ADMIN_URL && { ADMIN_URL }) }).run('console')
    const [url = '', ...rest] = out.split('\n')
    t.match([url.split('#')[0], ...rest], [`${base}/login`, '', sentence], ADMIN_ADDRESS)
    t.equal(/^ {2}ssh -N -L (.+) HOST$/m.exec(out)?.[1], forward, ADMIN_ADDRESS)
  }
  const byTls = shell({ ...env, ADMIN_ADDRESS: '127.0.0.1:8081', ADMIN_TLS_CERT_FILE: 'a', ADMIN_TLS_KEY_FILE: 'b' })
  t.match((await byTls.run('console')).out, /^https:\/\/127\.0\.0\.1:8081\/login#/)
  const elsewhere = {
    '127.0.0.2:9000': '9000:127.0.0.2:9000',
    '192.0.2.1:8081': '8081:192.0.2.1:8081',
    '[2001:db8::1]:8081': '8081:[2001:db8::1]:8081',
    'unix:/run/token-server/admin.sock': '8081:/run/token-server/admin.sock',
  }
  for (const [ADMIN_ADDRESS, forward] of Object.entries(elsewhere)) {
    const lines = (await shell({ ...env, ADMIN_ADDRESS }).run('console')).out.split('\n')
    const url = `http://127.0.0.1:${forward.split(':')[0]}/login#`
    const open = 'Then open this link there:'
    t.match(lines.slice(1), [`  ssh -N -L ${forward} HOST`, '', open, url, '', sentence], 'the port comes first')
  }
})

const WITH_PROVIDER = {
  ...{ OIDC_ISSUER: 'https://login.example', OIDC_CLIENT_ID: 'c', OIDC_CLIENT_SECRET_FILE: '/s', OIDC_ADMINS: 'a=b' },
  ...{ ADMIN_URL: 'https://console.example', OPERATORS: 'provider' },
}

t.test('Console: if it cannot print a link, it says what to do', async (t) => {
  const nobody = (await startOperators(t)).env
  const two = (await startOperators(t, 'anna', 'bert')).env
  const ADMIN_ADDRESS = '127.0.0.1:8081'
  for (const [env, command, err] of [
    [nobody, 'console', /^There is no console: set ADMIN_ADDRESS, for example to 127\.0\.0\.1:8081/],
    [{ ...nobody, ADMIN_ADDRESS }, 'console', /^There is no operator yet: "operators add/],
    [{ ...nobody, ADMIN_ADDRESS }, 'console anna', /no operator with the name anna/],
    [{ ...two, ADMIN_ADDRESS }, 'console', /^Choose one of these operators: anna, bert\.\n$/],
    [{ ...two, ADMIN_ADDRESS: '127.0.0.1:0' }, 'console anna', /has port 0/],
    [{ ...two, ...WITH_PROVIDER, ADMIN_ADDRESS }, 'console anna', /^OPERATORS=provider accepts no .*OPERATORS=any/],
  ] as const)
    await expectAll(t, shell(env), [[command, fails(err)]])
})
