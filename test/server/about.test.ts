import t from 'tap'
import { readConfig, settings } from '../../src/config.ts'
import { describe } from '../../src/server/about.ts'
import { VERSION } from '../../src/version.ts'

t.test('About: every setting is shown as it is written, without passwords', async (t) => {
  const env = {
    DATABASE_URL: 'postgres://u:hunter2@db.example:5433/tokens?sslmode=disable',
    TRUST_PROXY: '10.0.0.0/8, ::1',
    CONNECTION_LIMIT: 'off',
    FAILURE_LIMIT: 'off',
    OPS_ADDRESS: '[::1]:9464',
    ADMIN_ADDRESS: 'unix:/run/admin.sock',
  }
  const about = describe(readConfig({ ...env, PGPASSWORD: 'hunter2' }), 5)
  t.match(about, { version: VERSION, node: process.versions.node, store: 'PostgreSQL', startedAt: 5 })
  const values = Object.fromEntries(about.settings.map(({ name, value }) => [name, value]))
  t.strictSame(Object.keys(values), Object.keys(settings))
  t.match(values, { ...env, DATABASE_URL: 'postgres://db.example:5433/tokens', TOKEN_QUOTA: 'off', DOCS_URL: 'none' })
  t.notMatch(JSON.stringify(about), 'hunter2')
})

t.test('About: by default every setting is shown as its default is written', async (t) => {
  const { settings: shown, store } = describe(readConfig({ PUBLIC_URL: settings.PUBLIC_URL.default }), 0)
  t.equal(store, 'SQLite')
  for (const { name, value } of shown) {
    const { default: byDefault } = settings[name as keyof typeof settings]
    t.equal(value, byDefault.replace('PORT', '8080'), name)
  }
})

t.test('About: settings that are not given are not shown', async (t) => {
  const { DATABASE_URL, ADMIN_URL } = readConfig({})
  t.strictSame(describe({ DATABASE_URL, ADMIN_URL }, 0).settings, [
    { name: 'DATABASE_URL', value: 'sqlite:./data/token-server.db', meaning: settings.DATABASE_URL.meaning },
    { name: 'ADMIN_URL', value: 'none', meaning: settings.ADMIN_URL.meaning },
  ])
})
