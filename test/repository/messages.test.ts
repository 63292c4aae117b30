import { globSync, statSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { type Token, tokenizer } from 'acorn'
import t from 'tap'
import { ROOT, read } from './files.ts'

// What a page quotes of this program, the program says. A quotation has several words, and is
// - a code span that is no command, option, path, request, header, SQL or setting,
// - a text in double quotes, also in a block of JSON,
// - a text in bold on the page of the console,
// - a line of a block of `text` or without a language, or a cell of it, after two spaces.
// `…`, numbers, times, addresses, paths and words in capitals stand for any value.

const MARKDOWN = ['{README,CONTRIBUTING,SECURITY,CHANGELOG}.md', 'docs/**/*.md', '{deploy,examples,lab}/**/README.md']
const exclude = ['**/{node_modules,target}/**', 'docs/{performance/*,operations/commands.md}']
const PAGES = globSync(MARKDOWN, { cwd: ROOT, exclude }).sort()

/** At least so many quotations are on these pages: who takes some out lowers the number. */
const COUNTS: Record<string, number> = {
  'docs/admin-api.md': 6,
  'docs/console.md': 18,
  'docs/http.md': 4,
  'docs/log.md': 152,
  'docs/metrics.md': 23,
  'docs/operations/administration.md': 8,
  'docs/operations/backup-and-upgrade.md': 10,
  'docs/operations/install-and-run.md': 13,
  'docs/operations/monitoring.md': 55,
  'docs/operations/moving-to-postgresql.md': 13,
  'docs/operations/postgresql.md': 4,
  'docs/operations/troubleshooting.md': 87,
  'examples/caddy/README.md': 6,
  'examples/haproxy/README.md': 6,
  'examples/nginx/README.md': 13,
}

/** What others say. */
const OTHERS = {
  PostgreSQL: ['checkpoints are occurring too frequently', 'read committed'],
  pg: ['Connection terminated unexpectedly', 'The server does not support SSL connections', 'timeout expired'],
  'Node.js': ["does not match certificate's altnames", 'address already in use', 'node: bad option'],
  'HTTP (RFC 9110)': ['Unprocessable Entity'],
  SQLite: ['malformed database schema'],
  OpenSSL: [
    'unable to verify the first certificate',
    'unable to get local issuer certificate',
    'self-signed certificate',
  ],
  'settings of proxies': ['tls internal', 'on-marked-down shutdown-sessions'],
  browsers: ['Back'],
  'partners’ clients': ['no such part'],
  'names in examples': [
    ...['Störe Front', 'Old shop', 'suite reports', 'application warehouse', 'application old-shop'],
    ...['suites +reports -stock', 'anna (root)', 'anna (token-server)', 'anna (login.company.example)'],
  ],
}

/** Where texts come from that a page takes from elsewhere than src, besides the files of its own folder. */
const SOURCES: Record<string, string> = {
  'CONTRIBUTING.md': 'test/http/*.ts',
  'docs/operations/install-and-run.md': 'examples/nginx/*.conf',
  'docs/operations/monitoring.md': 'examples/grafana/*.json',
}

const OWN_COMMANDS = insideOf(/^\| `([a-z]+ [a-z-]+)/gm, read('docs/operations/commands.md'))

const NO_MESSAGE = [
  new RegExp(`^(${OWN_COMMANDS.join('|')}|token-server|console) `),
  /^(npm|npx|node|docker|kubectl|helm|systemctl|systemd-analyze|apt|certbot|curl|nginx|pip|promtool|patronictl|chronyc|git|grep|psql) /,
  /^\(|^[\w./-]*\/|(^| )--?[a-zA-Z]/,
  /^(GET|PUT|POST|PATCH|DELETE) |^[A-Z][A-Za-z]*(-[A-Za-z]+)*: |^; /,
  /^(SELECT|ALTER|CREATE|DROP|LOCK|UPDATE|GRANT|TRUNCATE|PRAGMA|VACUUM|ON CONFLICT|ATTACH|DETACH) /,
  /^[\w-]+: (\S+|…|release .*) $|^[\w.]+ :?= |\w\(|^\W*\w+=|^[{"]| === /,
]

function quotationsOf(page: string, text: string): string[] {
  const found: string[] = []
  const prose = text.replace(/^ *(?:\d+\. )?```([^\n]*)\n(.*?)^ *```$/gms, (_block, language: string, body: string) => {
    if (language === '' || language === 'text') found.push(...body.split(/\n| {2,}/))
    if (language === 'json') found.push(...insideOf(/"([^"]+)"/g, body))
    return ''
  })
  const spans = insideOf(/`([^`]+)`/g, prose).map(inOneLine)
  found.push(...spans.filter((span) => !NO_MESSAGE.some((rule) => rule.test(`${span} `))))
  const words = prose.replace(/`[^`]+`|<[^>]*>/g, '')
  found.push(...insideOf(/"([^"]+)"/g, words))
  const bold = page === 'docs/console.md' ? insideOf(/\*\*([^*]+)\*\*/g, words) : []
  return [...found.map(inOneLine).filter((one) => /[a-z…].* .*[a-z]/.test(one)), ...bold.map(inOneLine)]
}

function insideOf(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].map(([, inside = '']) => inside)
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The strings and templates of a source file, cut at tags and at values. */
function textsOf(file: string): string[] {
  const code = file.endsWith('.ts') ? stripTypeScriptTypes(read(file)) : read(file)
  const tokens: (Token & { value?: unknown })[] = [...tokenizer(code, { ecmaVersion: 'latest', sourceType: 'module' })]
  const texts = tokens.filter(({ type }) => type.label === 'string' || type.label === 'template')
  return texts.flatMap(({ value }) => String(value).split(/<[^>]*>/))
}

const VALUE = /\d+ (?:s|min|h|d) ago|\S*[\d/@_…]\S*|\S*\.\w\S*|(?<!\p{L})[A-Z]{2,}(?!\p{L})/u

/** A text as its runs of words between values, each with a space at both ends. */
const runsOf = (text: string) => text.split(VALUE).map((run) => ` ${run.match(/\p{L}+/gu)?.join(' ') ?? ''} `)

/** All runs of texts, one a line. */
const corpusOf = (texts: string[]) => `\n${[...new Set(texts.flatMap(runsOf))].join('\n\n')}\n`

/** Whether each run of a quotation is a part of one of the corpus, or is composed of several. */
function isSaid(corpus: string, quotation: string): boolean {
  return runsOf(quotation).every((run) => corpus.includes(run) || isComposed(corpus, run.trim().split(' ')))
}

/** Of whole runs of at least two words; the first may begin, and the last may end, within one, after or before three words. */
function isComposed(corpus: string, words: string[]): boolean {
  const reached = new Set([0])
  for (const from of words.keys()) {
    for (let to = from + 2; reached.has(from) && to <= words.length; to++) {
      const part = ` ${words.slice(from, to).join(' ')} `
      const isShort = to - from < 3
      const [before, after] = [from > 0 || isShort ? '\n' : '', to < words.length || isShort ? '\n' : '']
      if (corpus.includes(before + part + after)) reached.add(to)
    }
  }
  return reached.has(words.length)
}

const SAID = corpusOf([
  ...globSync('src/**/*.{ts,js}', { cwd: ROOT }).flatMap(textsOf),
  ...Object.values(OTHERS).flat(),
])

/** What the files say that are beside a README, or that SOURCES names. */
function saidBeside(page: string): string {
  const folder = page.endsWith('README.md') && page !== 'README.md' ? `${dirname(page)}/**/*.*` : undefined
  const exclude = ['**/{node_modules,target}/**', '**/*.md']
  const files = globSync(SOURCES[page] ?? folder ?? [], { cwd: ROOT, exclude })
  return corpusOf(files.filter((file) => statSync(join(ROOT, file)).isFile()).flatMap((file) => read(file).split('\n')))
}

t.test('Docs: what a page quotes of a message, a page or an output is there', async (t) => {
  for (const page of PAGES) {
    // Of the changes, only those of the next release: what came out then may have been replaced.
    const [text = ''] = read(page).split(page === 'CHANGELOG.md' ? /^## \d/m : '\0')
    const quotations = quotationsOf(page, text)
    const said = SAID + saidBeside(page)
    const unsaid = quotations.filter((quotation) => !isSaid(said, quotation))
    t.strictSame(unsaid, [], page)
    t.ok(quotations.length >= (COUNTS[page] ?? 0), `${page} has ${quotations.length} quotations`)
  }
  const gone = Object.keys(COUNTS).filter((page) => !PAGES.includes(page))
  t.strictSame(gone, [])
})

t.test('Docs: the test of quotations knows them, and what is none', async (t) => {
  const page = `
The log has \`wrong secret\`, the answer "Try it again", the page **Edit** and a \`token\`.
\`It ended at …, by
itself.\` \`secrets rotate ID\`, \`npm ci\`, \`serve --create\`, \`Allow: POST\`, \`GET /x y\`, \`SELECT 1 FROM a\`, \`a = b\`, \`/a b\`.
\`\`\`text
warning  clock  It is late.
\`\`\`
1. \`\`\`json
   { "detail": "No such thing" }
   \`\`\`
\`\`\`sh
echo "not this"
\`\`\`
`
  const quotations = ['It is late.', 'No such thing', 'wrong secret', 'It ended at …, by itself.', 'Try it again']
  t.strictSame(quotationsOf('docs/x.md', page), quotations)
  t.strictSame(quotationsOf('docs/console.md', page), [...quotations, 'Edit'])
  const corpus = corpusOf(['It ended at ', ', by itself.', 'The disk', 'is full now', 'Wait 3 minutes, or end it.'])
  const said = ['It ended at 2026-11-23T10:00:00Z, by itself.', 'ended at …, by', 'The disk is full now.']
  for (const quotation of [...said, 'Wait 4 minutes']) t.ok(isSaid(corpus, quotation), quotation)
  for (const quotation of ['It ended by itself', 'The disk was full', 'disk is full', 'Wait for 3 minutes', 'itsel']) {
    t.notOk(isSaid(corpus, quotation), quotation)
  }
})
