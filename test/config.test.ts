import { availableParallelism } from 'node:os'
import t from 'tap'
import { readConfig } from '../src/config.ts'
import { OperatorError } from '../src/domain/operator-error.ts'

t.test('Settings: without any, each has its default', async (t) => {
  t.strictSame(readConfig({}), {
    HOST: '127.0.0.1',
    PORT: 8080,
    DATABASE_URL: { kind: 'sqlite', file: './data/token-server.db' },
    DATABASE_PASSWORD_FILE: undefined,
    PREVIOUS_DATABASE_URL: undefined,
    LOG_LEVEL: 'info',
    TRUST_PROXY: false,
    CONNECTION_LIMIT: 1024,
    FAILURE_LIMIT: true,
    TOKEN_QUOTA: Infinity,
    WORKERS: 1,
    OPS_ADDRESS: undefined,
    ADMIN_ADDRESS: undefined,
    ADMIN_URL: undefined,
    PUBLIC_URL: 'http://localhost:8080',
    DOCS_URL: undefined,
  })
})

t.test('Settings: valid values are accepted', async (t) => {
  const env = { HOST: '::', PORT: '0', DATABASE_URL: 'sqlite:///data/a.db', LOG_LEVEL: 'silent', OTHER: 'x' }
  const { OTHER, ...rest } = env
  t.strictSame(readConfig({ ...env, TRUST_PROXY: '10.0.0.0/8, ::1,fd00::/128' }), {
    ...rest,
    DATABASE_URL: { kind: 'sqlite', file: '///data/a.db' },
    DATABASE_PASSWORD_FILE: undefined,
    PREVIOUS_DATABASE_URL: undefined,
    PORT: 0,
    CONNECTION_LIMIT: 1024,
    FAILURE_LIMIT: true,
    TOKEN_QUOTA: Infinity,
    WORKERS: 1,
    OPS_ADDRESS: undefined,
    ADMIN_ADDRESS: undefined,
    ADMIN_URL: undefined,
    PUBLIC_URL: 'http://localhost:0',
    DOCS_URL: undefined,
    TRUST_PROXY: ['10.0.0.0/8', '::1', 'fd00::/128'],
  })
  for (const PUBLIC_URL of ['https://auth.example', 'http://auth.example:8443/token-server']) {
    t.equal(readConfig({ PUBLIC_URL }).PUBLIC_URL, PUBLIC_URL)
  }
  t.strictSame(readConfig({ DATABASE_URL: 'sqlite::memory:' }).DATABASE_URL, { kind: 'sqlite', file: ':memory:' })
  t.strictSame(readConfig({ PREVIOUS_DATABASE_URL: 'sqlite:old.db' }).PREVIOUS_DATABASE_URL, {
    kind: 'sqlite',
    file: 'old.db',
  })
  t.equal(readConfig({ CONNECTION_LIMIT: 'off' }).CONNECTION_LIMIT, Infinity)
  t.equal(readConfig({ FAILURE_LIMIT: 'off' }).FAILURE_LIMIT, false)
  t.equal(readConfig({ TOKEN_QUOTA: '3600' }).TOKEN_QUOTA, 3600)
  t.equal(readConfig({ DOCS_URL: 'https://docs.example/a?b#c' }).DOCS_URL, 'https://docs.example/a?b#c')
  t.equal(readConfig({ WORKERS: '12' }).WORKERS, 12)
  t.equal(readConfig({ WORKERS: 'auto' }).WORKERS, availableParallelism())
})

t.test('TRUST_PROXY: everybody, a zone and what is no range are refused', async (t) => {
  for (const TRUST_PROXY of ['0.0.0.0/0', '::/0', 'fe80::1%eth0', '10.0.0.0/33', '::1/129', '10.0.0.0/8/9', '/8', '']) {
    t.throws(() => readConfig({ TRUST_PROXY }), /^TRUST_PROXY must be off, or addresses/m, TRUST_PROXY)
  }
  for (const TRUST_PROXY of ['0.0.0.0/1', '::/1', '10.0.0.0/32', '::1/128']) {
    t.strictSame(readConfig({ TRUST_PROXY }).TRUST_PROXY, [TRUST_PROXY])
  }
})

t.test('ADMIN_ADDRESS: it is a host and a port, or a Unix socket', async (t) => {
  const parsed = (ADMIN_ADDRESS: string) => readConfig({ ADMIN_ADDRESS }).ADMIN_ADDRESS
  t.strictSame(parsed('127.0.0.1:8081'), { host: '127.0.0.1', port: 8081 })
  t.strictSame(parsed('[::1]:8081'), { host: '::1', port: 8081 })
  t.strictSame(parsed('unix:/run/token server/admin.sock'), { socket: '/run/token server/admin.sock' })
  t.strictSame(parsed(`unix:/${'ü'.repeat(51)}`), { socket: `/${'ü'.repeat(51)}` })
  for (const wrong of [
    '',
    '8081',
    '127.0.0.1',
    '127.0.0.1:65536',
    'unix:',
    'unix:/',
    'unix:run/a',
    'unix:/run/',
    '/a',
  ]) {
    t.throws(() => readConfig({ ADMIN_ADDRESS: wrong }), /^ADMIN_ADDRESS must be an address and a port, /m, wrong)
  }
  t.throws(() => parsed(`unix:/${'ü'.repeat(52)}`), { message: /^ADMIN_ADDRESS must have a path of at most 103 bytes/ })
})

t.test('ADMIN_ADDRESS: it must differ from the public address and from OPS_ADDRESS', async (t) => {
  const env = { HOST: '127.0.0.1', PORT: '8080', OPS_ADDRESS: '[::1]:9464' }
  t.throws(() => readConfig({ ...env, ADMIN_ADDRESS: '127.0.0.1:8080' }), {
    message: 'ADMIN_ADDRESS must not be the address of HOST and PORT: clients are there.',
  })
  t.throws(() => readConfig({ ...env, ADMIN_ADDRESS: '[::1]:9464' }), {
    message: 'ADMIN_ADDRESS must not be OPS_ADDRESS.',
  })
  for (const ADMIN_ADDRESS of ['127.0.0.1:9464', '[::1]:8080', 'unix:/run/a.sock', 'off']) {
    t.doesNotThrow(() => readConfig({ ...env, ADMIN_ADDRESS }), ADMIN_ADDRESS)
  }
  t.doesNotThrow(() => readConfig({ PORT: '0', ADMIN_ADDRESS: '127.0.0.1:0', OPS_ADDRESS: '127.0.0.1:0' }))
})

t.test('ADMIN_URL: it is an origin as browsers send it', async (t) => {
  for (const ADMIN_URL of ['https://console.example', 'http://localhost:8081', 'https://[::1]:8443']) {
    t.equal(readConfig({ ADMIN_URL }).ADMIN_URL, ADMIN_URL)
  }
  t.equal(readConfig({ ADMIN_URL: 'none' }).ADMIN_URL, undefined)
  t.equal(readConfig({ ADMIN_URL: 'https://console.example/' }).ADMIN_URL, 'https://console.example')
  const wrong = [
    '',
    'console.example',
    'https://console.example//',
    'https://console.example/a',
    'https://Console.example',
  ]
  for (const ADMIN_URL of [
    ...wrong,
    'https://console.example:443',
    'ftp://a.example',
    'https://u@a.example',
    'https://',
  ]) {
    t.throws(() => readConfig({ ADMIN_URL }), /^ADMIN_URL must be an http or https URL without a path/, ADMIN_URL)
  }
})

t.test('OPS_ADDRESS: an address and a port', async (t) => {
  const parsed = (OPS_ADDRESS: string) => readConfig({ OPS_ADDRESS }).OPS_ADDRESS
  t.strictSame(parsed('127.0.0.1:9464'), { host: '127.0.0.1', port: 9464 })
  t.strictSame(parsed('[::1]:9464'), { host: '::1', port: 9464 })
  t.strictSame(parsed('localhost:0'), { host: 'localhost', port: 0 })
  for (const wrong of [
    '',
    '9464',
    ':9464',
    '127.0.0.1',
    '127.0.0.1:65536',
    '::1:9464',
    '[a]:1:2',
    '[localhost]:1',
    'a b:1',
  ]) {
    t.throws(() => parsed(wrong), /^OPS_ADDRESS must be an address and a port/, wrong)
  }
})

t.test('Settings: invalid values are reported all at once, and none is repeated', async (t) => {
  const env = {
    HOST: '',
    PORT: '70000',
    DATABASE_URL: 'mysql://u:hunter2@h/d',
    LOG_LEVEL: 'loud',
    TRUST_PROXY: 'on',
    CONNECTION_LIMIT: '0',
    FAILURE_LIMIT: '5',
    TOKEN_QUOTA: '0',
    WORKERS: 'x',
    OPS_ADDRESS: 'x',
    PUBLIC_URL: 'x',
    DOCS_URL: 'hunter2',
  }
  const error = t.throws(() => readConfig(env)) as OperatorError
  t.type(error, OperatorError)
  t.strictSame(
    error.message.split('\n').map((line) => line.split(' ')[0]),
    [
      'HOST',
      'PORT',
      'DATABASE_URL',
      'LOG_LEVEL',
      'TRUST_PROXY',
      'CONNECTION_LIMIT',
      'FAILURE_LIMIT',
      'TOKEN_QUOTA',
      'WORKERS',
      'OPS_ADDRESS',
      'PUBLIC_URL',
      'DOCS_URL',
    ],
  )
  t.notMatch(error.message, /hunter2/)
})

t.test('Settings: several workers need a store that all of them see', async (t) => {
  t.throws(() => readConfig({ WORKERS: '2', DATABASE_URL: 'sqlite::memory:' }), { message: /^WORKERS must be 1 / })
})

for (const [name, values] of Object.entries({
  HOST: ['a b'],
  PORT: ['', 'x', '-1', '1.5', '65536', ' 80'],
  DATABASE_URL: ['', 'sqlite:', 'sqlite://relative', 'sqlite: ', 'sqlite:a.db ', 'token-server.db'],
  PREVIOUS_DATABASE_URL: ['', 'off', 'sqlite:', 'sqlite::memory:', 'sqlite://relative', 'postgres://u@h/d', 'old.db'],
  LOG_LEVEL: ['', 'INFO'],
  CONNECTION_LIMIT: ['', '0', '-1', '1.5', '1000000', 'none', 'OFF'],
  FAILURE_LIMIT: ['', 'ON', 'true', '10'],
  TOKEN_QUOTA: ['', '0', '-1', '1.5', '1000000000', 'none', 'OFF'],
  WORKERS: ['', '0', '-1', '1.5', '100', 'all', 'AUTO'],
  PUBLIC_URL: [
    '',
    'auth.example',
    'ftp://a.example',
    'https://a.example/',
    'https://a.example?b',
    'https://a"b',
    'https://[a',
  ],
  DOCS_URL: ['', 'off', 'docs.example', 'ftp://a.example', 'https://[a', 'https://a.example/b c'],
  TRUST_PROXY: ['', 'true', '1', '10.0.0.0/33', '::1/129', '10.0.0.0/x', '10.0.0.1,', 'localhost'],
})) {
  t.test(`Settings: an invalid ${name} is refused, never replaced by the default`, async (t) => {
    for (const value of values)
      t.throws(() => readConfig({ [name]: value }), { message: new RegExp(`^${name} `) }, value)
  })
}
