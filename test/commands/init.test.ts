import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { readEnvFile } from '../../src/commands/shared/env-file.ts'
import { settings } from '../../src/config.ts'
import { listenHere } from '../support/listen-here.ts'
import { runProgram } from '../support/run-program.ts'
import { expectAll, fails, shell } from '../support/shell.ts'
import { MAIN } from '../support/spawn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ANSWERS = '--public-url https://auth.example --operator anna'

/** An empty folder, and the options with which everything is made in it. */
function place(t: Test) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'settings.env')
  return { folder, file, here: `--settings ${file} --data ${folder}/data`, ...shell({}) }
}

t.test('Init: it makes settings, database and operator; run again it changes nothing', async (t) => {
  const { folder, file, here, run, json } = place(t)
  const made = await json(`init ${here} ${ANSWERS}`)
  t.match(made, {
    settings: { file, made: true },
    database: { location: join(folder, 'data/token-server.db'), made: true },
    operator: { name: 'anna', made: true },
    login: { operator: 'anna', url: /^http:\/\/127\.0\.0\.1:8081\/login#\w{44}$/ },
  })
  t.equal(statSync(file).mode & 0o777, 0o600)
  const reached = { TRUST_PROXY: '127.0.0.1', ADMIN_ADDRESS: '127.0.0.1:8081', PUBLIC_URL: 'https://auth.example' }
  const written = { DATABASE_URL: `sqlite:${folder}/data/token-server.db`, ...reached }
  t.strictSame({ ...readEnvFile(file).settings }, written)
  const text = readFileSync(file, 'utf8')
  for (const [name, { meaning }] of Object.entries(settings)) {
    t.ok(text.includes(`# ${meaning}\n`) && text.includes(`${name}=`), name)
  }

  const env = readEnvFile(file).settings
  const before = await run('audit list', { env })
  await expectAll(t, { run }, [
    [
      `init --settings ${file}`,
      { out: /(\(was there\).*){2}anna \(was there\).*"token-server console anna"/s, events: [] },
    ],
    [`init --settings ${file} --operator bert`, /anna \(was there\)/],
    [`init --settings ${file} --data elsewhere`, fails(`${file} exists: change the settings in it`)],
  ])
  t.equal((await run('audit list', { env })).out, before.out)
  t.equal(readFileSync(file, 'utf8'), text)
})

t.test('Init: settings of the environment are written, too, and quoted where they need it', async (t) => {
  const { folder, file, run } = place(t)
  const DATABASE_URL = `sqlite:${folder}/a b.db`
  const INSTALLATION_NAME = 'The "blue" #1'
  const env = {
    HOST: '0.0.0.0',
    ADMIN_ADDRESS: 'off',
    DATABASE_URL,
    PUBLIC_URL: 'https://a.example',
    INSTALLATION_NAME,
  }
  const { out, err } = await run(`init --settings ${file} --yes`, { env: { ...env, npm_command: 'exec' } })
  t.equal(err, '', 'the changes are not logged besides')
  const marks = { ...env, INSTALLATION_NAME: 'a"b\'c`d' }
  const refused = await run(`init --settings ${file}.marks --yes`, { env: marks })
  t.match(refused, fails(/^INSTALLATION_NAME has all three kinds of quotation marks: leave one out\.\n$/))
  const again = await run(`init --settings ${file}`, { env: { SYSTEMD_UNIT: 'token-server' } })
  t.match(again.out, 'Next: start the server with "systemctl restart token-server".')
  t.match(out, /admin \(made\)[\s\S]*"npx token-server serve"[\s\S]*There is no console: set ADMIN_ADDRESS/)
  const { ADMIN_ADDRESS, ...written } = env
  t.strictSame({ ...readEnvFile(file).settings }, written, 'and no proxy is trusted, as others reach the server')
  const tls = { ...env, HOST: '127.0.0.1', TLS_CERT_FILE: '/tls.crt', TLS_KEY_FILE: '/tls.key' }
  await run(`init --settings ${file}.tls --yes`, { env: tls })
  t.equal(readEnvFile(`${file}.tls`).settings.TRUST_PROXY, undefined, 'with TLS here no proxy is needed')
})

t.test('Init: the executable names itself as it was called', async (t) => {
  const { file, here } = place(t)
  const { out } = await runProgram(process.execPath, [MAIN, ...`init ${here} ${ANSWERS}`.split(' ')], {
    argv0: './token-server',
  })
  t.match(out, 'Next: start the server with "./token-server serve"', file)
})

t.test('Init: a file that is there keeps its settings, and gets a database and an operator', async (t) => {
  const { folder, file, run } = place(t)
  writeFileSync(file, `DATABASE_URL=sqlite:${folder}/mine.db\n`)
  await expectAll(t, { run }, [
    [`init --settings ${file} --yes --operator anna`, /mine\.db \(made\)[\s\S]*anna \(made\)/],
  ])
  t.equal(readFileSync(file, 'utf8'), `DATABASE_URL=sqlite:${folder}/mine.db\n`)
  const provider = [
    'OIDC_ISSUER=https://login.example',
    'OIDC_CLIENT_ID=c',
    'OIDC_CLIENT_SECRET_FILE=/s',
    'OIDC_ADMINS=a=b',
  ]
  const console = ['ADMIN_ADDRESS=127.0.0.1:8081', 'ADMIN_URL=https://console.example', 'OPERATORS=provider']
  const lines = [`DATABASE_URL=sqlite:${folder}/other.db`, ...provider, ...console]
  writeFileSync(file, `${lines.join('\n')}\n`)
  await expectAll(t, { run }, [
    [`init --settings ${file} --yes --operator anna`, /anna \(made\)[\s\S]*OPERATORS=provider accepts no login links/],
  ])
  writeFileSync(file, 'nonsense\n')
  await expectAll(t, { run }, [[`init --settings ${file} --yes`, fails(/is neither KEY=value nor a comment/)]])
})

t.test('Init: a port of the new settings that another program uses is named', async (t) => {
  const { folder, file, here, run, json } = place(t)
  const { port } = await listenHere(t, createServer())
  const env = { HOST: '127.0.0.1', PORT: String(port), ADMIN_ADDRESS: `unix:${folder}/admin` }
  const { out } = await run(`init ${here} ${ANSWERS}`, { env })
  t.match(out, `\n\nPORT names a port that another program uses: set another one in ${file} first.\n\nNext: start`)
  const later = await run(`init --settings ${file}`)
  t.notMatch(later.out, /another program/, 'later it may be this server')
  const free = { HOST: '127.0.0.1', PORT: '0', ADMIN_ADDRESS: `127.0.0.1:${port}` }
  const settings = `--settings ${folder}/other.env --data ${folder}/other`
  t.match(await json(`init ${settings} ${ANSWERS}`, { env: free }), { ports_in_use: ['ADMIN_ADDRESS'] })
})

t.test('Init: nothing is made if an answer is missing or wrong', async (t) => {
  const { folder, here, run } = place(t)
  await expectAll(t, { run }, [
    [`init ${here}`, fails(/This is not a terminal: answer with --data, --public-url and --operator, or give --yes/)],
    [
      `init ${here} --operator anna --public-url nonsense`,
      fails(/^--public-url: It must be an http or https URL.*at the end\.\n$/),
    ],
    [`init ${here} --yes --operator a/b`, fails(/^--operator: The name must be/)],
    [`init --settings ${folder}/settings.env --data mysql://db/x --yes`, fails(/^--data: It must be sqlite: /)],
    // Nobody can make a folder there.
    [`init --settings ${folder}/settings.env --data /proc/none --yes`, fails(/cannot be opened/)],
    [
      `init --data ${folder}/data --settings ${folder}/none/x --yes --operator anna`,
      fails(/^The settings could not be written/),
    ],
  ])
  t.strictSame(readdirSync(folder), [])
})

t.test('Init: on a terminal it asks, again after a wrong answer; an empty answer takes the proposed one', async (t) => {
  const { folder, file, run } = place(t)
  const typed = (lines: string[]) => {
    const env = { SUDO_USER: 'anna', USER: 'root', PORT: '9000' }
    return run(`init --settings ${file}`, { env, stdin: Readable.from(lines), isTTY: true })
  }
  const ended = await typed([`${folder}/x\n`])
  t.match(ended, { status: 1, err: /Nothing was created: the input ended\.\n$/ })
  t.strictSame(readdirSync(folder), [])
  const { status, out, err } = await typed([
    ...['postgres://\n', `${folder}/x/\n`],
    ...['https://api.example/\n', '\n', 'a/b\n', ' \n'],
  ])
  t.equal(status, 0, err)
  t.match(
    err,
    /^(Where the data goes: .* \[\.\/data\]: (It must .*\.\n)?){2}(The URL that clients use \[http:\/\/localhost:9000\]: (It must .*\.\n)?){2}(The first operator .* \[anna\]: (The name must .*\.\n)?){2}/,
  )
  t.match(out, /x\/token-server\.db \(made\)\noperator +anna \(made\)/)
})
