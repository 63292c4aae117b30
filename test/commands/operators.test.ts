import t, { type Test } from 'tap'
import { main } from '../../src/commands/program.ts'
import { parseDatabaseUrl } from '../../src/domain/database-location.ts'
import { isAdminKey } from '../../src/domain/operator-keys.ts'
import { openStore } from '../../src/store/open.ts'
import { AUDIT } from '../support/audit.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const DAY = 24 * 3_600_000

/** A database with the operator anna. */
async function startDatabase(t: Test) {
  const options = temporaryDatabase(t)
  await runJson(['operators', 'add', 'anna', '--role', 'admin', '--create'], options)
  return options
}

/** A new session of anna. */
async function beginSession(t: Test, url: string): Promise<void> {
  const store = await openStore(parseDatabaseUrl(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  const times = { createdAt: Date.now(), endsAt: Date.now() + 600_000 }
  await store.addLoginCode('anna', { digest: 'code', ...times }, AUDIT)
  const session = { digest: 'session', ...times, remoteAddress: '192.0.2.1', userAgent: 'Browser \u001b[2J' }
  await store.beginSession('anna', 'code', session, AUDIT)
}

t.test('Operators: they are added with a role, listed and removed', async (t) => {
  const options = temporaryDatabase(t)
  const added = await run(['operators', 'add', 'anna', '--role', 'admin', '--create'], options)
  t.match(
    added.out,
    /^The operator anna is added as admin\. Next: "console anna" or "operators key anna --expires 90d"\./,
  )
  t.match(added.events, [{ msg: 'operator added', operator: 'anna', role: 'admin', origin: 'command line' }])
  t.match(await runJson(['operators', 'add', 'ci', '--role', 'viewer'], options), {
    name: 'ci',
    role: 'viewer',
    keys: [],
  })
  t.match(await runJson(['operators', 'list'], options), [{ name: 'anna' }, { name: 'ci' }])
  t.match(
    (await run(['operators', 'list'], options)).out,
    /^operator +role +key +state +last used\nanna +admin +no key\n/,
  )
  t.equal((await run(['operators', 'remove', 'anna'], options)).out, 'The operator anna is removed.\n')
  t.match(await runJson(['operators', 'remove', 'ci'], options), { name: 'ci', status: 'removed' })
  t.match(await run(['operators', 'remove', 'ci'], options), {
    status: 1,
    err: 'There is no operator with the name ci.\n',
  })
})

t.test('Operators: the options --role and --expires are required', async (t) => {
  const options = await startDatabase(t)
  const refused = [
    [['add', 'bert'], /required option '--role <role>'/],
    [['add', 'bert', '--role', 'root'], /Allowed choices are admin, viewer/],
    [['key', 'anna'], /required option '--expires <duration>'/],
    [['key', 'anna', '--expires', '366d'], /365d at most/],
    [['key', 'anna', '--expires', 'never'], /90s, 30m, 24h, 7d/],
    [['revoke-key', 'anna', 'one'], /must be a number/],
  ] as const
  for (const [args, err] of refused) t.match(await run(['operators', ...args], options), { status: 2, err })
  t.match(await run(['operators', 'key', 'anna', '--expires', '0'], options), { status: 1, err: /must expire/ })
  t.match(await run(['operators', 'add', 'a b', '--role', 'admin'], options), { status: 1, err: /^The name must be/ })
})

t.test('Operators: a key is printed once with its expiry, listed without the key itself, and revoked', async (t) => {
  const options = await startDatabase(t)
  const { out, events } = await run(['operators', 'key', 'anna', '--expires', '90d'], options)
  t.match(out, /^operator {3}anna\nkey {8}1\nadmin_key {2}otsa_\w{49}\nends_at {4}\S+Z\nThe key is shown this once/)
  t.match(events, [{ msg: 'operator key added', operator: 'anna', key_id: 1, ends_at: /Z$/ }])
  const made = await runJson(['operators', 'key', 'anna', '--expires', '12h'], options)
  t.ok(isAdminKey(made.admin_key))
  t.match(made, { operator: 'anna', id: 2 })
  t.ok(Math.abs(Date.parse(made.ends_at) - Date.now() - DAY / 2) < 600_000)

  t.match(await runJson(['operators', 'revoke-key', 'anna', '1'], options), {
    operator: 'anna',
    id: 1,
    status: 'revoked',
  })
  const again = ['operators', 'revoke-key', 'anna', '1']
  t.equal((await run(again, options)).out, 'The key 1 of anna was revoked before.\n')
  t.equal((await run(['operators', 'revoke-key', 'anna', '2'], options)).out, 'The key 2 of anna is revoked.\n')
  t.match(await run(['operators', 'revoke-key', 'anna', '3'], options), { status: 1, err: /has no key 3/ })
  await run(['operators', 'key', 'anna', '--expires', '1s'], options)
  const listed = await run(['operators', 'list'], options)
  t.match(listed.out, /anna +admin +1 +revoked at \S+Z +never\nanna +admin +2 +revoked at/)
  t.match(listed.out, /anna +admin +3 +(ends|expired) at \S+Z +never\n/)
  for (const key of [made.admin_key, /admin_key +(\S+)/.exec(out)?.[1]]) {
    const json = await run(['operators', 'list', '--json'], options)
    t.notMatch(JSON.stringify([events, listed, json]), key as string)
  }
})

t.test('Operators: a key that could not be printed is reported as lost', async (t) => {
  const { env } = await startDatabase(t)
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
  const options = await startDatabase(t)
  await beginSession(t, options.env.DATABASE_URL)
  t.match(await runJson(['operators', 'sessions'], options), [
    { operator: 'anna', id: 1, remote_address: '192.0.2.1', user_agent: 'Browser \u001b[2J' },
  ])
  t.match((await run(['operators', 'sessions'], options)).out, /\nanna +1 .+Z +192\.0\.2\.1 +Browser \\u001b\[2J\n$/)
  const end = ['operators', 'end-session', 'anna', '1']
  t.equal((await run(end, options)).out, 'The session 1 of anna is ended.\n')
  t.match(await run(end, options), { status: 1, err: 'The operator anna has no session 1.\n' })
  t.strictSame(await runJson(['operators', 'sessions'], options), [])
})
