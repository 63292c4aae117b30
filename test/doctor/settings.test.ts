import t from 'tap'
import { parseSettings, settings } from '../../src/config.ts'
import { checkCombinations, checkSettings } from '../../src/doctor/settings.ts'

const sourceOf = (env: NodeJS.ProcessEnv, file = {}) => ({ env, file, fileName: '.env', warnings: [], errors: [] })

const parse = ({ env, file }: { env: NodeJS.ProcessEnv; file: object }) =>
  parseSettings({ ...file, ...env }, { ...file })
const wrongIn = ({ problems }: ReturnType<typeof parse>) => problems.map(({ name }) => name)

function found(env: NodeJS.ProcessEnv, file: NodeJS.Dict<string> = {}) {
  const source = sourceOf(env, file)
  return checkSettings(source, parse(source))
}

/** What settings that are right may not mean together. */
function combinations(env: NodeJS.ProcessEnv) {
  const source = sourceOf(env)
  return checkCombinations(source, parse(source)).map(({ level, text }) => `${level}: ${text}`)
}

t.test('Doctor: every setting is reported with its value and where that comes from', async (t) => {
  const findings = found({ PORT: '9000', HOST: '::1' }, { HOST: '127.0.0.2', LOG_LEVEL: 'warn' })
  const texts = findings.map(({ level, text }) => `${level}: ${text}`)
  t.equal(texts.length, Object.keys(settings).length)
  t.match(texts, [
    'ok: HOST is ::1 (environment)',
    'ok: PORT is 9000 (environment)',
    'ok: DATABASE_URL is sqlite:./data/token-server.db (default)',
  ])
  t.ok(texts.includes('ok: LOG_LEVEL is warn (.env)'))
})

t.test('Doctor: a password is never shown, neither of a valid address nor of an invalid one', async (t) => {
  const right = found({ DATABASE_URL: 'postgres://u:hunter2@db.example:5433/tokens?sslmode=disable' })
  t.equal(right[2]?.text, 'DATABASE_URL is postgres://u:…@db.example:5433/tokens?sslmode=disable (environment)')
  for (const wrong of ['postgres://u:hunter2@/d', 'postgres:/u:hunter2@h/d', 'mysql://u:hunter2@h/d']) {
    const findings = found({ DATABASE_URL: wrong })
    t.match(findings, [{ level: 'error', text: /^DATABASE_URL must / }])
    t.notMatch(JSON.stringify(findings), 'hunter2')
  }
})

t.test('Doctor: every wrong setting is an error of its own, and the others are read', async (t) => {
  const source = sourceOf({ PORT: 'http', WORKERS: '4', DATABASE_URL: 'sqlite::memory:' }, { TOKEN_QUOTA: '-1' })
  const read = parse(source)
  t.strictSame(wrongIn(read), ['PORT', 'TOKEN_QUOTA', 'WORKERS'], 'a rule on two settings comes after those on one')
  t.match(read.config, {
    PORT: 8080,
    TOKEN_QUOTA: { tokens: Infinity },
    WORKERS: 1,
    DATABASE_URL: { file: ':memory:' },
  })
  const errors = checkSettings(source, read).filter(({ level }) => level === 'error')
  t.strictSame(errors, [
    { level: 'error', text: 'PORT must be a number from 0 to 65535. It is "http" in the environment.' },
    { level: 'error', text: 'TOKEN_QUOTA must be a number from 1 to 999999999, or off. It is "-1" in .env.' },
    { level: 'error', text: 'WORKERS must be 1 if the store is in memory. It is "4" in the environment.' },
  ])
  t.strictSame(checkCombinations(source, read), [], 'what they mean together is not known')
  const late = parse(sourceOf({ LOG_LEVEL: 'loud', WORKERS: '4', DATABASE_URL: 'sqlite::memory:' }))
  t.strictSame(wrongIn(late), ['LOG_LEVEL', 'WORKERS'], 'also if both are wrong at once')
})

t.test('Doctor: what is wrong with .env is an error, a misspelt name a warning, an unknown one a note', async (t) => {
  const error = 'Line 2 of .env is neither KEY=value nor a comment.'
  const warning = 'There is no setting PROT (in .env). Did you mean PORT?'
  const file = { PROT: '1', COMPOSE_FILE: 'x', TZ: 'UTC' }
  const source = { ...sourceOf({}, file), errors: [error], warnings: [warning] }
  const findings = checkSettings(source, parse(source)).filter(({ level }) => level !== 'ok')
  t.match(findings, [
    { level: 'error', text: error },
    { level: 'warning', text: warning },
    { level: 'note', text: '.env has names that are not settings: COMPOSE_FILE, TZ.' },
  ])
})

t.test('Doctor: settings that contradict each other are said, and those that agree are not', async (t) => {
  const good = { PUBLIC_URL: 'https://token.example', TRUST_PROXY: '10.0.0.1', HOST: '0.0.0.0' }
  const admin = { ADMIN_ADDRESS: '127.0.0.1:8081' }
  const right: NodeJS.ProcessEnv[] = [
    {},
    ...['127.0.0.1:80', '[::1]:80', 'localhost:80', 'unix:/run/a.sock'].map((ADMIN_ADDRESS) => ({ ADMIN_ADDRESS })),
    // A tunnel.
    { ...admin, ADMIN_URL: 'http://[::1]:8081' },
    { ADMIN_ADDRESS: 'unix:/run/a.sock', ADMIN_URL: 'http://[::1]:8081' },
    { ADMIN_ADDRESS: '0.0.0.0:8081', ADMIN_URL: 'https://console.example' },
    // Nothing leaves this machine.
    ...['http://localhost:8081', 'http://[::1]:80', 'http://127.0.0.1:80'].map((PUBLIC_URL) => ({ PUBLIC_URL })),
    // TLS without a proxy.
    { TRUST_PROXY: 'off', TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'a' },
    {
      ADMIN_ADDRESS: '0.0.0.0:8081',
      ADMIN_URL: 'https://console.example',
      ADMIN_TLS_CERT_FILE: 'a',
      ADMIN_TLS_KEY_FILE: 'a',
    },
    { OPS_ADDRESS: '0.0.0.0:9464', OPS_TLS_CERT_FILE: 'a', OPS_TLS_KEY_FILE: 'a', OPS_CLIENT_CA_FILE: 'a' },
    { LOG_LEVEL: 'debug', OPS_ADDRESS: '10.0.0.2:9464' },
  ]
  for (const env of right) t.strictSame(combinations({ ...good, ...env }), [], JSON.stringify(env))
  const local = settings.PUBLIC_URL.default
  const cases: [NodeJS.ProcessEnv, RegExp][] = [
    [{ PUBLIC_URL: 'http://token.example' }, /^warning: PUBLIC_URL .* in plain text\.$/],
    [{ PUBLIC_URL: local }, /^warning: PUBLIC_URL has its default, http:\/\/localhost:8080/],
    [{ PUBLIC_URL: local, HOST: '127.0.0.1' }, /^note: PUBLIC_URL has/],
    [{ TRUST_PROXY: 'off' }, /^warning: TRUST_PROXY is off, but PUBLIC_URL is https/],
    [{ LOG_LEVEL: 'silent' }, /^warning: LOG_LEVEL is silent/],
    [{ WORKERS: '99' }, /^note: WORKERS is 99, and this machine has \d+ cores\.$/],
    [{ DATABASE_URL: 'sqlite::memory:' }, /^warning: DATABASE_URL names a store in memory/],
    [{ FAILURE_LIMIT: 'off' }, /^note: FAILURE_LIMIT is off/],
    [{ OPS_ADDRESS: '0.0.0.0:9464' }, /^note: OPS_ADDRESS is 0\.0\.0\.0: .* reach this machine can reach port 9464\.$/],
    [{ OPS_ADDRESS: '[::]:9464' }, /^note: OPS_ADDRESS is ::/],
    [{ ADMIN_ADDRESS: '0.0.0.0:8081' }, /^warning: ADMIN_ADDRESS is 0\.0\.0\.0, .* no TLS proxy in front of it\.$/],
    [{ ADMIN_ADDRESS: '[fd00::1]:8081' }, /^warning: ADMIN_ADDRESS is fd00::1, /],
    [
      { ADMIN_ADDRESS: '0.0.0.0:8081', ADMIN_TLS_CERT_FILE: 'a', ADMIN_TLS_KEY_FILE: 'a' },
      /^warning: ADMIN_ADDRESS is 0\.0\.0\.0, and ADMIN_URL is none: the console refuses the name in its certificate\.$/,
    ],
    [{ ADMIN_URL: 'https://console.example' }, /^note: ADMIN_URL is set, but ADMIN_ADDRESS is off\.$/],
  ]
  for (const [env, expected] of cases) {
    const findings = combinations({ ...good, ...env })
    t.equal(findings.length, 1, JSON.stringify(env))
    t.match(findings[0], expected)
  }
})
