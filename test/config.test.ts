import { availableParallelism } from 'node:os'
import t from 'tap'
import { certificateFiles, handOverUrl, providerSettings, readConfig } from '../src/config.ts'
import { OperatorError } from '../src/domain/operator-error.ts'

const DEFAULTS = {
  HOST: '127.0.0.1',
  PORT: 8080,
  DATABASE_URL: { kind: 'sqlite', file: './data/token-server.db' },
  DATABASE_PASSWORD_FILE: undefined,
  PREVIOUS_DATABASE_URL: undefined,
  LOG_LEVEL: 'info',
  TRUST_PROXY: false,
  CONNECTION_LIMIT: 1024,
  FAILURE_LIMIT: true,
  CLIENT_AUTHENTICATION: 'body',
  TOKEN_QUOTA: { tokens: Infinity, isReportOnly: false },
  WORKERS: 1,
  TLS_CERT_FILE: undefined,
  TLS_KEY_FILE: undefined,
  OPS_ADDRESS: undefined,
  OPS_TLS_CERT_FILE: undefined,
  OPS_TLS_KEY_FILE: undefined,
  OPS_CLIENT_CA_FILE: undefined,
  ADMIN_ADDRESS: undefined,
  ADMIN_TLS_CERT_FILE: undefined,
  ADMIN_TLS_KEY_FILE: undefined,
  ADMIN_URL: undefined,
  OIDC_ISSUER: undefined,
  OIDC_CLIENT_ID: undefined,
  OIDC_CLIENT_SECRET_FILE: undefined,
  OIDC_ADMINS: undefined,
  OIDC_VIEWERS: undefined,
  OPERATORS: 'any',
  NOTICE_URL_FILE: undefined,
  NOTICE_SECRET_FILE: undefined,
  AUDIT_KEY_FILE: undefined,
  PUBLIC_URL: 'http://localhost:8080',
  INTROSPECTION_URL: undefined,
  HANDOVER: false,
  DOCS_URL: undefined,
  INSTALLATION_NAME: undefined,
  INSTALLATION_COLOR: 'gray',
}

type Setting = keyof typeof DEFAULTS

t.test('Settings: without any, each has its default', async (t) => {
  t.strictSame(readConfig({}), DEFAULTS)
})

/** What each setting means by a text. */
const VALID: [Setting, text: string, value: unknown][] = [
  ['HOST', '::', '::'],
  ['PORT', '65535', 65535],
  ['DATABASE_URL', 'sqlite:///data/a.db', { kind: 'sqlite', file: '///data/a.db' }],
  ['DATABASE_URL', 'sqlite::memory:', { kind: 'sqlite', file: ':memory:' }],
  ['PREVIOUS_DATABASE_URL', 'sqlite:old.db', { kind: 'sqlite', file: 'old.db' }],
  ['LOG_LEVEL', 'silent', 'silent'],
  ['TRUST_PROXY', '10.0.0.0/8, ::1,fd00::/128', ['10.0.0.0/8', '::1', 'fd00::/128']],
  ['TRUST_PROXY', '0.0.0.0/1,::/1,10.0.0.0/32,::1/128', ['0.0.0.0/1', '::/1', '10.0.0.0/32', '::1/128']],
  ['CONNECTION_LIMIT', 'off', Infinity],
  ['FAILURE_LIMIT', 'off', false],
  ['CLIENT_AUTHENTICATION', 'body,basic', 'body,basic'],
  ['CLIENT_AUTHENTICATION', 'body,basic,jwt', 'body,basic,jwt'],
  ['CLIENT_AUTHENTICATION', 'body,jwt', 'body,jwt'],
  ['TOKEN_QUOTA', '3600', { tokens: 3600, isReportOnly: false }],
  ['TOKEN_QUOTA', '3600,report-only', { tokens: 3600, isReportOnly: true }],
  ['WORKERS', '12', 12],
  ['WORKERS', 'auto', availableParallelism()],
  ['OPS_ADDRESS', '127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }],
  ['OPS_ADDRESS', '[::1]:9464', { host: '::1', port: 9464 }],
  ['OPS_ADDRESS', 'localhost:0', { host: 'localhost', port: 0 }],
  ['ADMIN_ADDRESS', '127.0.0.1:8081', { host: '127.0.0.1', port: 8081 }],
  ['ADMIN_ADDRESS', '[::1]:8081', { host: '::1', port: 8081 }],
  ['ADMIN_ADDRESS', 'unix:/run/token server/admin.sock', { socket: '/run/token server/admin.sock' }],
  ['ADMIN_ADDRESS', `unix:/${'ü'.repeat(51)}`, { socket: `/${'ü'.repeat(51)}` }],
  ['ADMIN_URL', 'none', undefined],
  ['ADMIN_URL', 'https://console.example', 'https://console.example'],
  ['ADMIN_URL', 'https://console.example/', 'https://console.example'],
  ['ADMIN_URL', 'http://localhost:8081', 'http://localhost:8081'],
  ['ADMIN_URL', 'https://[::1]:8443', 'https://[::1]:8443'],
  ['OIDC_CLIENT_ID', 'token server', 'token server'],
  ['OIDC_ADMINS', 'groups=platform, on call', { claim: 'groups', values: ['platform', 'on call'] }],
  ['OIDC_ADMINS', 'realm_access.roles=a=b', { claim: 'realm_access.roles', values: ['a=b'] }],
  ['OIDC_VIEWERS', 'https://a.example/roles=x', { claim: 'https://a.example/roles', values: ['x'] }],
  ['PUBLIC_URL', 'https://auth.example', 'https://auth.example'],
  ['PUBLIC_URL', 'http://auth.example:8443/token-server', 'http://auth.example:8443/token-server'],
  ['INTROSPECTION_URL', 'https://api.internal:8443/introspect', 'https://api.internal:8443/introspect'],
  ['NOTICE_URL_FILE', '/etc/notice url', '/etc/notice url'],
  ['HANDOVER', 'on', true],
  ['DOCS_URL', 'https://docs.example/a?b#c', 'https://docs.example/a?b#c'],
  ['INSTALLATION_NAME', 'Staging (Köln)', 'Staging (Köln)'],
  ['INSTALLATION_COLOR', 'amber', 'amber'],
]

t.test('Settings: valid values are accepted', async (t) => {
  for (const [name, text, value] of VALID) {
    const config = readConfig({ PUBLIC_URL: 'https://a.example', OTHER: 'x', [name]: text })
    t.strictSame(config, { ...DEFAULTS, PUBLIC_URL: 'https://a.example', [name]: value }, `${name}=${text}`)
  }
  t.match(readConfig({ PORT: '0' }), { PORT: 0, PUBLIC_URL: 'http://localhost:0' })
})

/** What is refused, with a | between two texts, and how. */
const INVALID: [Setting, message: string, texts: string][] = [
  ['HOST', 'must be an address', '|a b'],
  ['PORT', 'must be a number', '|x|-1|1.5|65536| 80'],
  ['DATABASE_URL', '', '|sqlite:|sqlite://relative|sqlite: |sqlite:a.db |token-server.db|mysql://u@h/d'],
  ['PREVIOUS_DATABASE_URL', '', '|off|sqlite:|sqlite::memory:|sqlite://relative|postgres://u@h/d|old.db'],
  ['LOG_LEVEL', 'must be', '|INFO|loud'],
  ['TRUST_PROXY', 'must be off, or addresses', '|true|on|1|10.0.0.0/x|10.0.0.1,|localhost|10.0.0.0/8/9|/8'],
  ['TRUST_PROXY', 'must be off, or addresses', '0.0.0.0/0|::/0|fe80::1%eth0|10.0.0.0/33|::1/129'],
  ['CONNECTION_LIMIT', 'must be a number', '|0|-1|1.5|1000000|none|OFF'],
  ['FAILURE_LIMIT', 'must be on or off', '|ON|true|10'],
  [
    'CLIENT_AUTHENTICATION',
    'must be body, which ,basic and ,jwt may follow',
    '|basic|basic,body|body,|body, basic|body,jwt,basic|BODY|off',
  ],
  ['TOKEN_QUOTA', 'must be a number', '|0|-1|1.5|1000000000|none|OFF|off,report-only|5,report|0,report-only'],
  ['WORKERS', 'must be a number', '|0|-1|1.5|100|all|AUTO'],
  ['OPS_ADDRESS', 'must be an address and', '|9464|:9464|127.0.0.1|127.0.0.1:65536|::1:9464|[a]:1:2|[localhost]:1'],
  ['OPS_ADDRESS', 'must be an address and', 'a b:1|unix:/run/a.sock'],
  ['ADMIN_ADDRESS', 'must be an address and', '|8081|127.0.0.1|127.0.0.1:65536|unix:|unix:/|unix:run/a|unix:/run/|/a'],
  ['ADMIN_ADDRESS', 'must have a path of at most 103 bytes', `unix:/${'ü'.repeat(52)}`],
  ['ADMIN_URL', 'must be an https URL', '|console.example|https://console.example//|https://console.example/a'],
  ['ADMIN_URL', 'must be an https URL', 'https://Console.example|https://console.example:443|https://'],
  ['ADMIN_URL', 'must be an https URL', 'ftp://a.example|https://u@a.example|http://console.example|http://10.0.0.1'],
  [
    'OIDC_ISSUER',
    'must be an https URL',
    '|off|login.example|http://login.example|https://a.example?b|https://a.example#b',
  ],
  ['OIDC_ISSUER', 'must be an https URL', 'https://u:p@a.example|ftp://a.example|http://10.0.0.1'],
  ['OIDC_ADMINS', 'must be a claim', '|groups|groups=|=a|groups=a,|groups=,a|a b=c'],
  ['OIDC_VIEWERS', 'must be a claim', 'off|groups=a,,b'],
  ['PUBLIC_URL', '', '|auth.example|ftp://a.example|https://a.example/|https://a.example?b|https://a"b|https://[a'],
  [
    'INTROSPECTION_URL',
    'must be an http or https URL with a path',
    '|off|a.example/i|ftp://a.example/i|https://a.example',
  ],
  [
    'INTROSPECTION_URL',
    'must be an http',
    'https://a.example/|https://a.example/i/|https://a.example/i?b|https://a.example#i|https://u:p@a.example/i',
  ],
  ['OPERATORS', 'must be any or provider', '|off|Provider'],
  ['HANDOVER', 'must be on or off', '|ON|yes'],
  ['DOCS_URL', '', '|off|docs.example|ftp://a.example|https://[a|https://a.example/b c'],
  ['INSTALLATION_NAME', 'must be a name of at most 40', `| |a |a\tb|${'x'.repeat(41)}`],
  ['INSTALLATION_COLOR', 'must be gray, red', '|grey|#fff'],
  ...['', 'OPS_', 'ADMIN_'].flatMap((listener): typeof INVALID => [
    [`${listener}TLS_CERT_FILE` as Setting, 'must be the path', ''],
    [`${listener}TLS_KEY_FILE` as Setting, 'must be the path', ''],
  ]),
  ['OPS_CLIENT_CA_FILE', 'must be the path', ''],
  ['NOTICE_URL_FILE', 'must be the path', ''],
  ['NOTICE_SECRET_FILE', 'must be the path', ''],
  ['AUDIT_KEY_FILE', 'must be the path', ''],
]

t.test('Settings: an invalid value is refused, never replaced by the default', async (t) => {
  for (const [name, message, texts] of INVALID) {
    for (const text of texts.split('|')) {
      t.throws(() => readConfig({ [name]: text }), { message: new RegExp(`^${name} ${message}`) }, `${name}=${text}`)
    }
  }
})

t.test('Settings: listeners need addresses of their own, and workers a shared store', async (t) => {
  const env = { HOST: '127.0.0.1', PORT: '8080', OPS_ADDRESS: '[::1]:9464' }
  const taken =
    'ADMIN_ADDRESS must not be the address of HOST and PORT, which is for clients. It is "127.0.0.1:8080" in the environment.'
  const wrong: [env: NodeJS.ProcessEnv, message: string | RegExp][] = [
    [{ ...env, ADMIN_ADDRESS: '127.0.0.1:8080' }, taken],
    [{ ...env, ADMIN_ADDRESS: '[::1]:9464' }, /^ADMIN_ADDRESS must not be the address of OPS_ADDRESS\. /],
    [
      { HANDOVER: 'on', PUBLIC_URL: 'http://auth.example' },
      /^HANDOVER must be off unless PUBLIC_URL is an https URL \(http for this machine only\)\. /,
    ],
    [{ WORKERS: '2', DATABASE_URL: 'sqlite::memory:' }, /^WORKERS must be 1 /],
    [{ NOTICE_SECRET_FILE: '/s' }, /^NOTICE_SECRET_FILE must be none without NOTICE_URL_FILE\. /],
    [{ HOST: '127.0.0.1', PORT: 'x', ADMIN_ADDRESS: '127.0.0.1:8080' }, /^PORT [^\n]*$/],
  ]
  for (const [env, message] of wrong) t.throws(() => readConfig(env), { message })
  for (const ADMIN_ADDRESS of ['127.0.0.1:9464', '[::1]:8080', 'unix:/run/a.sock', 'off']) {
    t.doesNotThrow(() => readConfig({ ...env, ADMIN_ADDRESS }), ADMIN_ADDRESS)
  }
  t.doesNotThrow(() => readConfig({ NOTICE_SECRET_FILE: '/s', NOTICE_URL_FILE: '/u' }))
  t.doesNotThrow(() => readConfig({ PORT: '0', ADMIN_ADDRESS: '127.0.0.1:0', OPS_ADDRESS: '127.0.0.1:0' }))
})

t.test('Settings: a certificate needs its key, and a listener that can speak TLS', async (t) => {
  const pair = (prefix: string) => ({ [`${prefix}TLS_CERT_FILE`]: '/a.crt', [`${prefix}TLS_KEY_FILE`]: '/a.key' })
  for (const prefix of ['', 'ADMIN_', 'OPS_']) {
    const [certificate, key] = [`${prefix}TLS_CERT_FILE`, `${prefix}TLS_KEY_FILE`]
    t.throws(() => readConfig({ [certificate]: 'a' }), {
      message: new RegExp(`^${certificate} must be none without ${key}\\.`),
    })
    t.throws(() => readConfig({ [key]: 'a' }), {
      message: new RegExp(`^${key} must be none without ${certificate}\\.`),
    })
  }
  const onSocket = { ...pair('ADMIN_'), ADMIN_ADDRESS: 'unix:/run/a.sock' }
  t.throws(() => readConfig(onSocket), {
    message: /^ADMIN_TLS_CERT_FILE must be none if ADMIN_ADDRESS is a Unix socket\./,
  })
  t.throws(() => readConfig({ OPS_CLIENT_CA_FILE: 'ca' }), {
    message: /^OPS_CLIENT_CA_FILE must be none without OPS_TLS/,
  })
  const config = readConfig({ ...pair(''), ...pair('ADMIN_'), ...pair('OPS_'), OPS_ADDRESS: '127.0.0.1:1' })
  t.equal(config.PUBLIC_URL, 'https://localhost:8080')
  const files = { certificate: '/a.crt', key: '/a.key', clientCa: undefined }
  t.strictSame(certificateFiles(config), { public: files, admin: undefined, ops: files }, 'of what is on')
})

t.test('Settings: an identity provider needs a client, a role and the address of the console', async (t) => {
  const env: NodeJS.ProcessEnv = {
    ...{ OIDC_ISSUER: 'http://localhost:9000/a', OIDC_CLIENT_ID: 'c', OIDC_CLIENT_SECRET_FILE: '/s' },
    ...{ OIDC_VIEWERS: 'groups=a', ADMIN_URL: 'https://console.example' },
  }
  t.strictSame(providerSettings(readConfig(env)), {
    ...{ issuer: 'http://localhost:9000/a', clientId: 'c', secretFile: '/s' },
    rules: { admin: undefined, viewer: { claim: 'groups', values: ['a'] } },
    callbackUrl: 'https://console.example/login/callback',
  })
  t.equal(providerSettings(readConfig({})), undefined)
  for (const name of Object.keys(env).slice(1)) {
    const missing = name === 'OIDC_VIEWERS' ? 'OIDC_ADMINS' : name
    const message = `OIDC_ISSUER must be none without ${missing}. It is "http://localhost:9000/a" in the environment.`
    t.throws(() => readConfig({ ...env, [name]: undefined }), { message })
  }
  t.doesNotThrow(() => readConfig({ ...env, OIDC_VIEWERS: undefined, OIDC_ADMINS: 'groups=a' }))
  const OPERATORS = 'provider'
  t.equal(readConfig({ ...env, OPERATORS }).OPERATORS, OPERATORS)
  const message = 'OPERATORS must be any without OIDC_ISSUER. It is "provider" in the environment.'
  t.throws(() => readConfig({ OPERATORS }), { message })
})

t.test('Settings: a wrong value is repeated with its origin, unless it may contain a password', async (t) => {
  const cases: [env: NodeJS.ProcessEnv, end: string][] = [
    [{ PORT: '80"a' }, ' It is "80\\"a" in the environment.'],
    [{ WORKERS: 'many' }, ' It is "many" in .env.'],
    [{ DATABASE_URL: 'postgres://u:hunter2@h' }, ' It is set in .env.'],
    [{ OPS_ADDRESS: 'u:hunter2@h' }, ' It is set in the environment.'],
  ]
  const file = { PORT: '80', WORKERS: 'many', DATABASE_URL: 'postgres://u:hunter2@h' }
  for (const [env, end] of cases) {
    const { message } = t.throws(() => readConfig(env, file)) as OperatorError
    t.ok(message.endsWith(end), message)
  }
})

t.test('Settings: invalid values are reported all at once, and no URL is repeated', async (t) => {
  const env = { HOST: '', PORT: '70000', DATABASE_URL: 'mysql://u:hunter2@h/d', WORKERS: 'x', DOCS_URL: 'hunter2' }
  const error = t.throws(() => readConfig(env)) as OperatorError
  t.type(error, OperatorError)
  const names = error.message.split('\n').map((line) => line.split(' ')[0])
  t.strictSame(names, Object.keys(env))
  t.notMatch(error.message, /hunter2/)
})

t.test('Hand-over links begin with PUBLIC_URL, and there are none unless HANDOVER is on', async (t) => {
  const PUBLIC_URL = 'https://auth.example'
  t.equal(handOverUrl({ HANDOVER: true, PUBLIC_URL }), 'https://auth.example/hand-over')
  t.equal(handOverUrl({ HANDOVER: false, PUBLIC_URL }), undefined)
})
