import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { violations } from '../../support/axe.ts'
import { browserTest } from '../../support/browser.ts'
import { registerApplication, sideways, signIn, startBoth, visit } from '../../support/console.ts'

/** Checks the current state of a page with axe-core in both colour schemes, and that it fits a small window. */
async function look(t: Test, page: Page, what: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    // Waits for colour transitions to finish.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    t.strictSame(await violations(page), [], `${what}, ${colorScheme}`)
  }
  t.equal(await sideways(page), 0, `${what}: the page does not scroll to the side`)
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

/** Complaints other than error statuses. */
const others = (complaints: string[]) => complaints.filter((text) => !/status of 4\d\d/.test(text))

async function start(t: Test, name = 'anna') {
  const { browser, console } = await startBoth(t)
  const { command, register } = console
  await command('operators', 'add', 'vera', '--role', 'viewer')
  await command('suites', 'register', 'store', '--name', 'Store API')
  const { clientId: id } = await register()
  const visitor = await signIn(browser, console, { name, viewport: { width: 400, height: 900 } })
  const open = (path: string) => visitor.page.goto(console.origin + path)
  return { browser, console, id, open, ...visitor }
}

browserTest('States: the login page passes axe-core after success and failure', async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, context, complaints } = await visit(browser, { viewport: { width: 400, height: 900 } })
  await page.goto(`${console.origin}/login`)
  await look(t, page, 'login')
  await send(page, { code: 'wrong' })
  await look(t, page, 'login with a wrong code')
  await page.goto(`${console.origin}/signed-in`)
  await look(t, page, 'a browser that keeps no cookie')
  await page.goto(await console.link())
  await page.getByText('Signed in as anna').waitFor()
  await page.goto(`${console.origin}/new-suite`)
  await context.clearCookies()
  await send(page, { suite_id: 'store' })
  await look(t, page, 'a form that is sent by nobody')
  t.strictSame(others(complaints), [])
})

browserTest('States: a new secret and a confirmation dialog pass axe-core', async (t) => {
  const { console, page, complaints, id, open } = await start(t)
  await registerApplication(page, console.origin)
  await look(t, page, 'a registered application')
  await open('/new-suite')
  await send(page, { suite_id: 'prices', name: 'Price feed' })
  await look(t, page, 'a registered suite')
  await open(`/applications/${id}`)
  await send(page, { hours: '2' })
  await look(t, page, 'a new secret')
  const seen = new Set<string>()
  for (const path of [`/applications/${id}`, '/operators']) {
    await open(path)
    for (const question of await page.locator('details.confirm > summary').all()) {
      const [label = ''] = (await question.textContent())?.split('…') ?? []
      if (seen.has(label)) continue
      seen.add(label)
      await question.click()
      await look(t, page, `${path}: ${label}`)
      await page.keyboard.press('Escape')
    }
  }
  t.ok(seen.size > 4)
  for (const path of [`/applications/${id}/remove`, '/suites/store/remove']) {
    await open(path)
    await look(t, page, path)
  }
  t.strictSame(complaints, [])
})

browserTest('States: a page with errors passes axe-core', async (t) => {
  const { console, page, complaints, id, open } = await start(t)
  const wrong: [path: string, values: Record<string, string>][] = [
    ['/new-application', { name: ' ', developer_email: 'nobody' }],
    ['/new-suite', { suite_id: 'a b', name: '' }],
    [`/applications/${id}`, { developer_email: 'nobody', name: '' }],
    [`/applications/${id}`, { hours: '-1' }],
    ['/suites/store', { shown_name: 'Store API', name: '' }],
  ]
  for (const [path, values] of wrong) {
    await open(path)
    await send(page, values)
    const fields = page.locator('[aria-invalid=true]')
    t.ok((await fields.count()) > 0, `${path}: said at the field`)
    const ids = (await fields.first().getAttribute('aria-describedby'))?.split(' ').at(-1)
    t.match(await page.locator(`#${ids}`).textContent(), /\w/)
    await look(t, page, `${path} with ${Object.keys(values)} wrong`)
  }
  await open(`/applications/${id}`)
  await console.command('applications', 'update', id, '--name', 'Of another')
  await send(page, { developer_email: 'dev@partner.example', name: 'Of anna' })
  await look(t, page, 'a name that another has changed')
  await open('/applications/nobody')
  await look(t, page, 'an application that is none')
  t.strictSame(others(complaints), [])
})

browserTest('States: the pages of a viewer pass axe-core', async (t) => {
  const { page, complaints, id, open } = await start(t, 'vera')
  const paths = ['/', '/applications', `/applications/${id}`, '/suites', '/suites/store', '/operators']
  for (const path of [...paths, '/audit?subject=nobody', '/new-suite']) {
    await open(path)
    await look(t, page, path)
  }
  t.strictSame(others(complaints), [])
})
