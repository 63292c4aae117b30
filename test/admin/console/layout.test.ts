import t from 'tap'
import { asset } from '../../../src/admin/console/assets.ts'
import { layout } from '../../../src/admin/console/layout.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { textOf } from '../../support/pages.ts'

const EVIL = `"'><script>alert(1)</script>`

t.test('Console: the layout renders no value as markup', async (t) => {
  const text = layout(
    { title: EVIL, heading: EVIL, trail: [{ href: EVIL, label: EVIL }], lead: EVIL, actions: EVIL, content: EVIL },
    { operator: { name: EVIL, role: 'admin' }, done: EVIL },
  )
  t.notMatch(text, '<script>')
  t.notMatch(text, /\sstyle=|\son\w+=|<style/)
  t.equal(text.split('&quot;&#39;&gt;&lt;script&gt;').length, 10)
})

t.test('Console: a page shows its place in the navigation, the operator and the last result', async (t) => {
  const operator = { name: 'anna', role: 'viewer' } as const
  const text = layout(
    { title: 'Audit', section: '/audit', content: 'x', scripts: ['login.js'] },
    { operator, done: 'It was removed.' },
  )
  t.match(text, '<title>Audit · token-server</title>')
  t.match(text, '<h1>Audit</h1>')
  t.match(text, '<a href="/audit" aria-current="page">Audit</a>')
  t.equal(text.split('aria-current').length, 2)
  t.match(text, /Signed in as .*<bdi>anna<\/bdi>.*, viewer/)
  t.match(text, 'data-zone>Times are in UTC.</p>')
  t.match(text, '<form method="post" action="/logout">')
  t.match(text, '<div class="note good" role="status"><p>It was removed.</p></div>')
  t.match(text, `<script type="module" src="${asset('login.js')}"></script>`)
  t.match(text, '<a class="skip" href="#main">')
})

t.test('Console: the navigation is shown only after signing in', async (t) => {
  const text = layout({ title: 'Sign in', content: 'x' }, { operator: undefined })
  t.notMatch(text, /sections|logout|class="note|class="lead|class="trail|class="actions/)
  t.match(text, '<body class="outside">')
})

t.test('Console: every page of the demo says that it is a demo, and what to try', async (t) => {
  const { signIn, visit } = await createConsoleWorld(t, { howToSignIn: 'Press Enter.' })
  const browser = await signIn()
  for (const path of ['/', '/about'])
    t.match(textOf((await browser(path)).body), 'This is a demo. Everything in it is gone')
  t.match(textOf((await browser('/')).body), 'see why it fails: on its page, under Applications')
  t.notMatch((await visit('/login')).body, 'This is a demo', 'but not before signing in')
  const other = await createConsoleWorld(t)
  t.notMatch((await (await other.signIn())('/')).body, 'This is a demo')
})

t.test('Assets: they have content-hashed URLs, the right types, and may be cached', async (t) => {
  const { visit } = await createConsoleWorld(t)
  const types = {
    'console.css': 'text/css',
    'console.js': 'text/javascript',
    'login.js': 'text/javascript',
    'icon.svg': 'image/svg+xml',
  }
  for (const [name, type] of Object.entries(types)) {
    t.match(asset(name), /^\/assets\/[a-z]+-[0-9a-f]{16}\.(css|js|svg)$/)
    const answer = await visit(asset(name))
    t.equal(answer.statusCode, 200)
    t.equal(answer.headers['content-type'], `${type}; charset=utf-8`)
    t.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
    t.ok(answer.body.length > 100)
  }
})

t.test('Assets: no other file or folder is served', async (t) => {
  const { visit } = await createConsoleWorld(t)
  const wrong = [
    '/assets/',
    '/assets',
    '/assets/console.css',
    '/assets/../html.ts',
    '/assets/%2e%2e/html.ts',
    '/assets/..%2fhtml.ts',
  ]
  for (const url of wrong) t.notMatch((await visit(url)).body, /import |:root/, url)
  t.equal((await visit('/assets/console.css')).statusCode, 404)
})

t.test('Assets: no script writes markup or evaluates text, and no stylesheet loads anything', async (t) => {
  const { visit } = await createConsoleWorld(t)
  for (const name of ['console.js', 'login.js']) {
    const { body } = await visit(asset(name))
    t.notMatch(body, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser|https?:/)
  }
  t.notMatch((await visit(asset('console.css'))).body, /@import|url\(|https?:/)
})
