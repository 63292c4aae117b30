import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { picturesOf } from '../../reference/console/pictures.ts'
import { layout } from '../../src/admin/console/layout.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const TEXT = readFileSync(join(DOCS, 'console.md'), 'utf8')

/** Bytes. Every change of a large image makes clones of the repository larger. */
const LARGEST = 250_000

t.test('Console: docs/console.md has a screenshot of every page in the navigation', async (t) => {
  const frame = layout({ title: '', content: '' }, { operator: { name: 'anna', role: 'admin' } })
  const labels = [...frame.matchAll(/<li><a href="[^"]*">([^<]+)</g)].map(([, label]) => label)
  t.ok(labels.includes('Overview'))
  for (const label of labels) {
    const [, section = ''] = TEXT.split(`\n## ${label}\n`)
    t.match(section.split('\n## ')[0], /!\[.+\]\(console\/.+\.png\)/, String(label))
  }
})

t.test('Console: its screenshots are those that the script takes, and they are small', async (t) => {
  const made = picturesOf({ clientId: '' }).map(({ name }) => `${name}.png`)
  const files = readdirSync(join(DOCS, 'console'))
  t.strictSame(files.sort(), [...made, 'overview-dark.png'].sort())
  for (const file of files) {
    t.ok(TEXT.includes(`(console/${file})`), `${file} is shown`)
    t.ok(statSync(join(DOCS, 'console', file)).size < LARGEST, file)
  }
})
