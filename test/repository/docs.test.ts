import { existsSync, globSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { createAnchors } from '../../src/admin/console/documents.ts'
import { settings } from '../../src/config.ts'
import { AUTHENTICATION_REASONS, CHECK_REASONS, REQUEST_REASONS } from '../../src/domain/reasons.ts'
import { openDatabase } from '../../src/store/sqlite/connection.ts'
import { LINES, nameInLog } from '../../src/telemetry/audit-log.ts'
import { CATALOGUE, type Metric } from '../../src/telemetry/metrics/catalogue.ts'
import { ROOT, read } from './files.ts'

t.test('Docs: .env.example lists every setting with its default and meaning', async (t) => {
  const real = Object.entries(settings).map(([name, setting]) => [name, setting.default, setting.meaning])
  const example = [...read('.env.example').matchAll(/^# (.+)\n([A-Z_]+)=(.*)$/gm)]
  const inExample = example.map(([, meaning, name, value]) => [name, value, meaning])
  t.strictSame(inExample, real)
})

t.test('Docs: docs/storage.md explains every table and column of the migrated schema, and no other', async (t) => {
  const db = openDatabase(':memory:', (db) => db)
  t.teardown(() => db.close())
  const tables = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
  )
  const columns = db.prepare('SELECT name FROM pragma_table_xinfo(?)').pluck()
  const real = (tables.pluck().all() as string[]).map((table) => [table, (columns.all(table) as string[]).sort()])
  t.ok(real.length > 0)

  // A section whose table begins with `| column |` is a table of the schema; a row may explain several columns.
  const sections = read('docs/storage.md').split(/^## /m).slice(1)
  const documented = sections
    .filter((section) => section.includes('\n| column |'))
    .map((section) => {
      const cells = section.match(/^\| (`.+?) \|/gm) ?? []
      return [section.split('\n')[0]?.replaceAll('`', ''), codesIn(cells.join())]
    })
  sameOnce(t, documented, real)
})

/** Each that there is is documented, once, and nothing else. */
function sameOnce(t: Test, documented: unknown[][], real: unknown[][]): void {
  t.strictSame(Object.fromEntries(documented), Object.fromEntries(real))
  t.equal(documented.length, real.length, 'each is there once')
}

/** What is written as code in a text, in the order of the alphabet. */
const codesIn = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string).sort()

t.test('Docs: docs/log.md lists every event with its level and fields, and no other', async (t) => {
  const rows = read('docs/log.md').matchAll(/^\| `([a-z -]+)` \| (debug|info|warn|error|fatal) \| (.*?)\| .+ \|$/gm)
  const documented = [...rows].map(([, type, level, fields]) => [type, [level, ...codesIn(fields)]])
  const lines = Object.entries(LINES)
  const real = lines.map(([type, { level, fields }]) => [type, [level, ...fields.map(nameInLog).sort()]])
  sameOnce(t, documented, real)
})

t.test('Docs: docs/log.md lists every reason of a refused or failed request with its status', async (t) => {
  const [, section = ''] = read('docs/log.md').split('`reason` of `request refused` and `request failed`:')
  const rows = [...section.matchAll(/^\| `(.+?)` \| (\d+) \|$/gm)]
  const documented = rows.map(([, reason, status]) => [reason, Number(status)])
  const real = Object.entries(REQUEST_REASONS).filter(([, { code }]) => code !== 'invalid_client')
  t.strictSame(Object.fromEntries(documented), Object.fromEntries(real.map(([reason, { status }]) => [reason, status])))
})

t.test('Docs: docs/log.md lists every reason why a token or a client is refused, and no other', async (t) => {
  const reasonsOf = (event: string) => {
    const [, section = ''] = read('docs/log.md').split(`\`reason\` of \`${event}\`:\n\n| \`reason\` | meaning |\n`)
    const [table = ''] = section.split('\n\n')
    return [...table.matchAll(/^\| `(.+?)` \|/gm)].map(([, reason]) => reason).sort()
  }
  t.strictSame(reasonsOf('token refused'), Object.keys(CHECK_REASONS).sort())
  t.strictSame(reasonsOf('authentication refused'), [...Object.keys(AUTHENTICATION_REASONS), 'no credentials'].sort())
})

t.test('Docs: docs/metrics.md lists every metric with its type and labels, and no other', async (t) => {
  const rows = read('docs/metrics.md').matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \| (.*?)\| .+ \|$/gm)
  const documented = [...rows].map(([, name, type, labels]) => [name, [type, ...codesIn(labels)]])
  const metrics = Object.entries<Metric>(CATALOGUE)
  const real = metrics.map(([name, { type, labels }]) => [name, [type, ...Object.keys(labels).sort()]])
  sameOnce(t, documented, real)
})

const MARKDOWN = ['*.md', '{docs,deploy,examples,lab}/**/*.md']
const PAGES = globSync(MARKDOWN, { cwd: ROOT, exclude: ['**/node_modules/**'] })

t.test('Docs: every link leads to a file and a heading that exist', async (t) => {
  const links = PAGES.flatMap((page) => linksOf(read(page)).map((link) => ({ page, link })))
  t.ok(links.length > 100)
  const dead = links.filter(({ page, link }) => !leadsSomewhere(page, link))
  t.strictSame(dead, [])
})

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#').map(decodeURIComponent)
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, target)) || anchor === undefined) return existsSync(join(ROOT, target))
  const file = statSync(join(ROOT, target)).isDirectory() ? join(target, 'README.md') : target
  return anchorsOf(read(file)).has(anchor)
}

t.test('Docs: the test of links sees what a page has', async (t) => {
  const page = [
    '# A `b_c` & d: *e*\n[x](a.md#b "title"), ![y](<c d.svg>), [out](https://a.example)',
    '## [Same](e.md), [again](#a)\n## Same, again\n<a id="here"></a> `[code](no.md)`',
    '```\n# No heading\n[no link](f.md)\n```',
    '[ref]: g.md#h',
  ].join('\n')
  t.strictSame(linksOf(page), ['a.md#b', 'c d.svg', 'e.md', '#a', 'g.md#h'])
  t.strictSame([...anchorsOf(page)], ['a-b_c--d-e', 'same-again', 'same-again-1', 'here'])
  t.ok(PAGES.includes('README.md') && PAGES.some((file) => file.startsWith('examples/')))
})

/** Where the links of a page lead, but for those to other sites. */
function linksOf(page: string): string[] {
  const prose = withoutFences(page).replace(/`[^`\n]*`/g, '')
  const links = [...prose.matchAll(/\]\((?:<([^>]+)>|([^)\s]+))[^)]*\)|^\[[^\]]+\]: (\S+)/gm)]
  return links.map(([, ...targets]) => targets.find(Boolean) as string).filter((target) => !/^[a-z]+:/.test(target))
}

/** The anchors that GitHub gives to the headings of a page, and those that are written as HTML. */
function anchorsOf(page: string): Set<string> {
  const prose = withoutFences(page)
  const headings = [...prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => heading)
  const ids = [...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id]) => id as string)
  return new Set([...headings.map(createAnchors()), ...ids])
}

function withoutFences(page: string): string {
  return page.replace(/^ *(```+|~~~+)[^\n]*\n.*?^ *\1 *$/gms, '')
}
