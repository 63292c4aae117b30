import t from 'tap'
import { isInMemory, locationText, parseDatabaseUrl } from '../../src/domain/database-location.ts'

const NO_TLS = { tls: undefined }
const TLS = { tls: { rootCertificateFile: undefined } }

t.test('Database URL: a SQLite file', async (t) => {
  for (const file of ['a.db', './data/a b.db', '/data/a.db', '///data/a.db', ':memory:']) {
    const location = parseDatabaseUrl(`sqlite:${file}`)
    t.strictSame(location, { kind: 'sqlite', file })
    t.equal(locationText(location), file)
    t.equal(isInMemory(location), file === ':memory:')
  }
})

t.test('Database URL: one PostgreSQL server or several, with TLS unless they are this machine', async (t) => {
  const rootCertificateFile = '/etc/ca.pem'
  const LOCAL = { host: 'localhost', port: 5432 }
  const DB = { host: 'db.example', port: 5432 }
  const cases: [url: string, hosts: { host: string; port: number }[], more: object][] = [
    ['postgres://u@db.example/d', [DB], TLS],
    ['postgresql://u@db.example:6432/d', [{ ...DB, port: 6432 }], TLS],
    ['postgres://u@localhost/d', [LOCAL], NO_TLS],
    ['postgres://u@[::1]:1/d', [{ host: '::1', port: 1 }], NO_TLS],
    ['postgres://u@localhost,127.1.1.1:2/d', [LOCAL, { host: '127.1.1.1', port: 2 }], NO_TLS],
    ['postgres://u@localhost,db.example/d?sslmode=disable', [LOCAL, DB], NO_TLS],
    ['postgres://u@localhost,127.evil.example/d', [LOCAL, { ...DB, host: '127.evil.example' }], TLS],
    ['postgres://u@localhost/d?sslmode=verify-full&sslrootcert=/etc/ca.pem', [LOCAL], { tls: { rootCertificateFile } }],
    ['postgres://%40u:p%2Fw@localhost/d%20b', [LOCAL], { database: 'd b', user: '@u', password: 'p/w', ...NO_TLS }],
  ]
  for (const [url, hosts, more] of cases) {
    const parts = { kind: 'postgres', hosts, database: 'd', user: 'u', password: undefined }
    t.strictSame(parseDatabaseUrl(url), { ...parts, ...more }, url)
  }
})

t.test('Database URL: what is wrong is said, and nothing of it is repeated', async (t) => {
  const wrong: [url: string, message: RegExp][] = [
    ['', /^must be sqlite:/],
    ['sqlite:', /^must be sqlite:/],
    ['sqlite://host/file', /^must be sqlite:/],
    ['mysql://hunter2@h/d', /^must be sqlite:/],
    ['postgres://localhost/d', /^must have the form/],
    ['postgres://u@localhost', /^must have the form/],
    ['postgres://u@localhost/', /^must have the form/],
    ['postgres://u:hunter2@localhost/d/e', /^must have the form/],
    ['postgres://u@localhost:0/d', /^must have hosts/],
    ['postgres://u@localhost:65536/d', /^must have hosts/],
    ['postgres://u@localhost:x/d', /^must have hosts/],
    ['postgres://u@a,,b/d', /^must have hosts/],
    ['postgres://u:hunter2@localhost/d?hunter2=1', /^must have no parameters but/],
    ['postgres://u@localhost/d?sslmode=require', /^must have sslmode=verify-full or/],
    ['postgres://u:hunter2%zz@localhost/d', /^must have characters/],
  ]
  for (const [url, message] of wrong) {
    const error = t.throws(() => parseDatabaseUrl(url), SyntaxError, url) as unknown as SyntaxError
    t.match(error.message, message, url)
    t.notMatch(error.message, /hunter2/)
  }
  const shown = locationText(parseDatabaseUrl('postgres://u:hunter2@[::1],h:2/d'))
  t.equal(shown, 'postgres://[::1]:5432,h:2/d', 'nor are people shown the user and the password')
})
