import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { listenForOperators } from '../../../src/ops/listener.ts'
import { referencePages } from '../../../src/ops/reference.ts'
import { browserTest, startBrowser } from '../../support/browser.ts'
import { registerApplication, signIn, startOnce, visit } from '../../support/console.ts'
import { hasColours, lookAtPages, passesAxe } from '../../support/looks.ts'

for (const [what, applications] of Object.entries({ 'an empty server': 0, 'hostile names': 12 })) {
  browserTest(`Pages: with ${what} they pass axe-core and fit the window, in both colour schemes`, (t) =>
    lookAtPages(t, applications),
  )
}

const NARROW = { viewport: { width: 400, height: 900 } }

const startShared = startOnce(async ({ command }) => {
  await command('operators', 'add', 'vera', '--role', 'viewer')
  await command('suites', 'register', 'store', '--name', 'Store API')
})

/** An operator with a narrow window, and an application. `open`: opens a page; `look`: looks at it in both schemes. */
async function start(t: Test, name?: 'anna' | 'vera') {
  const { browser, console } = await startShared(t)
  const { clientId } = await console.register()
  const visitor = await (name ? signIn(browser, console, { name, ...NARROW }) : visit(browser, NARROW))
  const { page } = visitor
  const open = (path: string) => page.goto(console.origin + path)
  async function look(what: string) {
    for (const colorScheme of ['light', 'dark'] as const) {
      // Waits for colour transitions to finish.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await passesAxe(t, page, `${what}, ${colorScheme}`, colorScheme === 'dark' ? 'color-contrast' : undefined)
    }
  }
  /** Complaints other than error statuses. */
  const others = () => visitor.complaints.filter((text) => !/status of 4\d\d/.test(text))
  return { console, own: `/applications/${clientId}`, clientId, open, look, others, ...visitor }
}

/** Submits the form with this field and these values, bypassing validation by the browser. */
async function send(page: Page, values: Record<string, string>): Promise<void> {
  const [first] = Object.keys(values)
  const loaded = page.waitForEvent('load')
  await page.locator(`form:has([name=${first}])`).evaluate((form: HTMLFormElement, values) => {
    for (const [name, value] of Object.entries(values)) {
      const field = form.elements.namedItem(name) as HTMLInputElement
      field.type = 'text'
      field.value = value
    }
    form.noValidate = true
    form.requestSubmit()
  }, values)
  await loaded
}

browserTest('States: the login page passes axe-core after success and failure', async (t) => {
  const { console, page, context, open, look, others } = await start(t)
  await open('/login')
  await look('login')
  await send(page, { code: 'wrong' })
  await look('login with a wrong code')
  await open('/signed-in')
  await look('a browser that keeps no cookie')
  await page.goto(await console.link())
  await page.getByText('Signed in as anna').waitFor({ state: 'attached' })
  await open('/new-suite')
  await context.clearCookies()
  await send(page, { suite_id: 'store' })
  await look('a form that is sent by nobody')
  t.strictSame(others(), [])
})

browserTest('States: a new secret and a confirmation dialog pass axe-core', async (t) => {
  const { console, page, complaints, own, open, look } = await start(t, 'anna')
  await registerApplication(page, console.origin)
  await look('a registered application')
  await open('/new-suite')
  await send(page, { suite_id: 'prices', name: 'Price feed' })
  await look('a registered suite')
  await open(own)
  await send(page, { hours: '2' })
  await look('a new secret')
  const seen = new Set<string>()
  for (const path of [own, '/operators']) {
    await open(path)
    for (const question of await page.locator('details.confirm > summary').all()) {
      const [label = ''] = (await question.textContent())?.split('…') ?? []
      if (seen.has(label)) continue
      seen.add(label)
      await question.click()
      await look(`${path}: ${label}`)
      await page.keyboard.press('Escape')
    }
  }
  t.ok(seen.size > 4)
  await open('/suites/store/remove')
  await look('the removal of a suite')
  t.strictSame(complaints, [])
})

browserTest('States: a page with errors passes axe-core', async (t) => {
  const { console, page, clientId, own, open, look, others } = await start(t, 'anna')
  const wrong: [path: string, values: Record<string, string>][] = [
    ['/new-application', { name: ' ', developer_email: 'nobody' }],
    ['/new-suite', { suite_id: 'a b', name: '' }],
    [`${own}/edit`, { developer_email: 'nobody', name: '' }],
    [own, { hours: '-1' }],
    ['/suites/store/edit', { shown_name: 'Store API', name: '' }],
  ]
  for (const [path, values] of wrong) {
    await open(path)
    await send(page, values)
    const fields = page.locator('[aria-invalid=true]')
    t.ok((await fields.count()) > 0, `${path}: said at the field`)
    const focus = await page.evaluate(() => {
      const { top, bottom } = document.activeElement?.getBoundingClientRect() ?? new DOMRect()
      return { isFirst: document.activeElement === document.querySelector('[aria-invalid]'), top, bottom }
    })
    t.ok(
      focus.isFirst && focus.top >= 0 && focus.bottom <= 900,
      `${path}: the first wrong field has the focus, in view`,
    )
    const ids = (await fields.first().getAttribute('aria-describedby'))?.split(' ').at(-1)
    t.match(await page.locator(`#${ids}`).textContent(), /\w/)
    await look(`${path} with ${Object.keys(values)} wrong`)
  }
  await open(`${own}/edit`)
  await console.command('applications', 'update', clientId, '--name', 'Of another')
  await send(page, { developer_email: 'dev@partner.example', name: 'Of anna' })
  await look('a name that another has changed')
  await open('/applications/nobody')
  await look('an application that is none')
  t.strictSame(others(), [])
})

browserTest('States: the pages of a viewer pass axe-core', async (t) => {
  const { own, open, look, others } = await start(t, 'vera')
  for (const path of ['/', own, '/suites/store', '/operators', '/new-suite']) {
    await open(path)
    await look(path)
  }
  t.strictSame(others(), [])
})

browserTest('Reference: it passes axe-core and fits the window, and its contents lead to every endpoint', async (t) => {
  const { address, close } = await listenForOperators({ host: '127.0.0.1', port: 0 }, referencePages(), () => {})
  t.teardown(close)
  const { page, complaints } = await visit(await startBrowser(t))
  for (const [width, colorScheme] of [
    [400, 'light'],
    [1600, 'dark'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 1000 })
    await page.goto(`${address}/docs`)
    await passesAxe(t, page, `${width} px, ${colorScheme}`)
    t.strictSame(await clippedTexts(page), [], 'no text is cut off')
    await hasColours(t, page, colorScheme)
  }
  t.strictSame(complaints, [])
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content')
  const targets = await page.evaluate(() =>
    [...document.querySelectorAll('a[href^="#"]')].map((link) => link.getAttribute('href')),
  )
  t.ok(targets.includes('#requestToken') && targets.includes('#everywhere'))
  for (const target of new Set(targets)) t.equal(await page.locator(String(target)).count(), 1, String(target))
})

/** The elements whose text is wider than they are. */
function clippedTexts(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('main *, nav *')]
      .filter(
        (element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline',
      )
      .map((element) => String(element.textContent).slice(0, 80)),
  )
}
