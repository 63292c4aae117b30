import { globSync } from 'node:fs'
import t from 'tap'
import { HELP } from '../../../src/admin/console/components.ts'
import { documentPage } from '../../../src/admin/console/documents.ts'
import { layout } from '../../../src/admin/console/layout.ts'
import { ROOT } from '../../repository/files.ts'
import { createConsoleWorld, textOf } from '../../support/console-world.ts'

/** The markup of a document in docs/. */
async function shown(markdown: string): Promise<string> {
  const page = layout(await documentPage('docs/a/b.md', markdown), { operator: undefined })
  return page.slice(page.indexOf('<h1>'))
}

t.test('Documents: an operator reads those of this version in the console, and nobody else does', async (t) => {
  const { signIn, visit } = await createConsoleWorld(t)
  const viewer = await signIn('viewer')
  t.match(await viewer.body('/docs/README.md'), '<a href="/docs/operations/README.md" rel="noreferrer">operations</a>')
  t.match(await viewer.text('/docs/operations/settings.md'), /Settings .* PUBLIC_URL /)
  t.match(await viewer.body('/docs/CHANGELOG.md'), '<h1><span id="changelog">Changelog</span></h1>')
  for (const path of [
    'package.json',
    'openapi.yaml',
    '.env.md',
    'a/../../README.md',
    '%2e%2e/README.md',
    'CONTRIBUTING.md',
    'no.md',
    '',
  ]) {
    t.equal(await viewer.status(`/docs/${path}`), 404, path)
  }
  t.equal(await visit.location('/docs/README.md'), '/login')
})

t.test('Documents: the index has those that come with the program, in groups', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const body = await (await signIn('viewer')).body('/docs')
  const [, operators = '', developers = '', ...others] = body.split(/<h2 id="group-\d">/)
  t.match(operators, /^For operators<.*<a href="\/docs\/operations\/README.md">Operations<\/a>/s)
  t.match(developers, /^For client and gateway developers<.*<a href="\/docs\/contract.md">The contract<\/a>/s)
  t.strictSame(
    others.map((group) => group.split('<')[0]),
    ['For contributors', 'For security researchers'],
  )
  t.notMatch(body, 'nginx')
  t.match(operators, '>A first alert, step by step</a>', 'each says what it has')
})

t.test('Documents: Markdown becomes markup, and HTML in it does not', async (t) => {
  const body = await shown(`# A \`title\`
Text with **strong**, *em*, \`<code>\`, 1 \\* 2 &, <b onclick="x">HTML</b><!-- a comment -->.<a id="here"></a>

## A \`b_c\` & d: *e*
- one
- two

1. first

\`\`\`sh
echo "<b>"
\`\`\`

<script>alert(1)</script>

\`\`\`mermaid
sequenceDiagram
\`\`\`

## A \`b_c\` & d: *e*
| | \`name\` |
|---|---|
| a<br>b | c |
`)
  t.match(body, '<h1><span id="a-title">A <code>title</code></span></h1>')
  t.match(
    body,
    '<p>Text with <strong>strong</strong>, <em>em</em>, <code>&lt;code&gt;</code>, 1 * 2 &amp;, HTML.<span id="here"></span></p>',
  )
  t.match(body, '<h2 id="a-b_c--d-e">A <code>b_c</code> &amp; d: <em>e</em></h2>')
  t.match(body, '<h2 id="a-b_c--d-e-1">')
  t.match(body, /<ul><li>one<\/li>\n<li>two<\/li>\n<\/ul>\n<ol><li>first<\/li>\n<\/ol>/)
  t.match(body, '<pre><code>echo &quot;&lt;b&gt;&quot;</code></pre>')
  t.match(body, '<td role="cell"></td><th role="columnheader" scope="col"><code>name</code></th>')
  t.match(
    body,
    '<td role="cell" data-label=""><div>a<br>b</div></td><td role="cell" data-label="name"><div>c</div></td>',
  )
  t.notMatch(body, /alert|onclick|a comment|Diagram/)
})

t.test(
  'Documents: a link leads to a document, a heading or another site; what is not served is only text',
  async (t) => {
    for (const [link, target] of [
      ['#x', '#x'],
      ['https://a.example/b', 'https://a.example/b'],
      ['c.md#d', '/docs/a/c.md#d'],
      ['../../README.md', '/docs/README.md'],
      ['../operations/', '/docs/operations/README.md'],
      ['../openapi.yaml', undefined],
      ['../../CONTRIBUTING.md', undefined],
      ['../../examples/nginx/', undefined],
      ['javascript:alert(1)', undefined],
    ] as const) {
      const body = await shown(`# A\n[text](${link})`)
      t.match(body, target ? `<p><a href="${target}" rel="noreferrer">text</a></p>` : '<p>text</p>', link)
    }
    t.notMatch(await shown('# A\n![The list](../console/list.png)'), 'The list')
  },
)

t.test('Documents: each link in a document, and each question mark, leads to a heading that there is', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const { body: read } = await signIn()
  const files = globSync(['docs/**/*.md', '{README,CHANGELOG,SECURITY}.md'], { cwd: ROOT })
  const pages = new Map<string, string>()
  for (const file of files) {
    const path = `/docs/${file.replace(/^docs\//, '')}`
    pages.set(path, await read(path))
  }
  const links = [...pages].flatMap(([path, body]) =>
    [...body.matchAll(/<a href="([^"]+)" rel="noreferrer">/g)].map(([, link = '']) => ({ path, link })),
  )
  t.ok(pages.size > 50 && links.length > 400)
  const helps = Object.values(HELP).map((link) => ({ path: 'HELP', link: `/docs/${link}` }))
  const dead = [...links, ...helps].filter(({ path, link }) => {
    if (link.startsWith('http')) return false
    const [page = '', anchor] = link.split('#')
    const body = pages.get(page === '' ? path : page)
    return body === undefined || (anchor !== undefined && !body.includes(` id="${decodeURIComponent(anchor)}"`))
  })
  t.strictSame(dead, [])
})

t.test('Documents: question marks are beside suites, quotas, overlap, hand-over links and more', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t, { handOverUrl: 'https://auth.example/hand-over' })
  await administration.suites.register({ suiteId: 'store', name: 'Store' })
  await administration.applications.register({ clientId: 'a' })
  const browser = await signIn()
  const bodies = await Promise.all(['', '/edit'].map((page) => browser.body(`/applications/a${page}`)))
  for (const about of Object.keys(HELP)) t.match(bodies.join(), `aria-label="Help on ${about}">?</a>`, about)
  t.match(textOf(await browser.body('/new-suite')), 'which is shown once. ?')
})
