import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import t from 'tap'
import { run, runJson } from '../support/run.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

t.test('Version: the command, --version and package.json agree, and what it runs on is said, too', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const versions = {
    version,
    node: process.versions.node,
    sqlite: db.prepare('SELECT sqlite_version()').pluck().get(),
  }
  t.strictSame(await runJson(['version'], {}), versions)
  t.equal((await run(['--version'])).out, `${version}\n`)
  const words = `token-server ${version}\nNode.js ${versions.node}\nSQLite ${versions.sqlite}\n`
  t.match(await run(['version']), { status: 0, out: words, err: '' })
})
