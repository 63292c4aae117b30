import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { settings } from '../src/config.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

t.test('Docs: .env.example lists every setting with its default and meaning, and no other', async (t) => {
  const blocks = [...read('.env.example').matchAll(/^# (.+)\n([A-Z_]+)=(.*)$/gm)]
  const documented = blocks.map(([, meaning, name, value]) => [name, value, meaning])
  const real = Object.entries(settings).map(([name, setting]) => [name, setting.default, setting.meaning])
  t.strictSame(documented, real)
})

t.test("Docs: the README's table of settings says the same", async (t) => {
  const rows = [
    ...read('README.md').matchAll(/^\| `([A-Z_]+)` \| `([^`]+)` \| (.+?)(?: \(the image: `[^`]+`\))? \|$/gm),
  ]
  const documented = rows.map(([, name, value, meaning]) => [name, value, meaning])
  const real = Object.entries(settings).map(([name, setting]) => [name, setting.default, setting.meaning])
  t.strictSame(documented, real)
})

t.test('Docs: every column of the schema is explained', async (t) => {
  const storage = read('docs/storage.md')
  for (const file of globSync('migrations/sqlite/*.sql', { cwd: ROOT })) {
    for (const [, table, columns] of read(file).matchAll(/CREATE TABLE (\w+) \((.*?)^\)/gms)) {
      const name = table === 'secrets_of_both' ? 'secrets' : table
      const [section] = storage.split(`## ${name}\n`)[1]?.split('\n## ') ?? ['']
      for (const [, column] of (columns as string).matchAll(/^ {2}(\w+) +(?:TEXT|INTEGER|BLOB)/gm)) {
        t.match(section, `\`${column}\``, `${table}.${column}`)
      }
    }
  }
})

t.test('Docs: every link to a file leads somewhere', async (t) => {
  for (const file of ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })]) {
    for (const [, target] of read(file).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      t.ok(existsSync(join(ROOT, dirname(file), target as string)), `${file}: ${target}`)
    }
  }
})
