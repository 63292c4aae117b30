import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { type Console, registerApplication, signIn, startBoth, visit } from '../../support/console.ts'
import { HOSTILE_NAMES } from '../../support/hostile.ts'
import { until } from '../../support/until.ts'

/** Payloads that would be noticed if they ran or were parsed as markup. */
const MARKUP = `"'><img src=x onerror="document.title='run'"><script>document.title='run'</script>`
const ENCODED = encodeURIComponent(MARKUP)

/** Payloads without spaces, which client ids cannot contain. */
const STRANGE_ID = `"'><b/onmouseover=alert(1)>`

/** No payload became an element of the page. */
async function expectText(t: Test, page: Page, what: string): Promise<void> {
  t.not(await page.title(), 'run', what)
  const foreign = await page.locator('img[src="x"], svg[onload], b, i, [onerror], [onmouseover]').count()
  t.equal(foreign, 0, `${what}: no element of theirs`)
  t.equal(await page.locator('script:not([src^="/assets/"])').count(), 0, `${what}: and no script`)
}

/** Complaints other than error statuses and malformed dates or numbers. */
const others = (complaints: string[]) =>
  complaints.filter((text) => !/status of 4\d\d|does not conform|cannot be parsed/.test(text))

/** Registers applications and a suite with payloads as names. Resolves to the client ids. */
async function registerHostile({ command }: Console): Promise<string[]> {
  await command('suites', 'register', 'store', '--name', MARKUP)
  const ids: string[] = []
  for (const [index, name] of [MARKUP, ...HOSTILE_NAMES].entries()) {
    const registered = await command(
      ...['applications', 'register', '--name', name, '--developer-email', `"<b>x</b>"@partner-${index}.example`],
      ...(index === 0 ? ['--client-id', STRANGE_ID] : []),
    )
    ids.push(registered.client_id)
  }
  return ids
}

/** Causes refusals that are stored, with markup in every possible place. */
async function sendHostile({ command, address, token }: Console, ids: readonly string[]): Promise<void> {
  const strange = { 'user-agent': MARKUP, 'x-request-id': MARKUP.replace(/\s/g, ''), referer: MARKUP }
  for (const id of ids) await token(id, MARKUP)
  await token(MARKUP, MARKUP)
  await token(`${STRANGE_ID}.`, MARKUP)
  for (const suite of ['store', ENCODED]) {
    await fetch(`${address}/v1/oauth/verify/${suite}`, { headers: { ...strange, authorization: 'Bearer nonsense' } })
  }
  await fetch(`${address}/v1/oauth/accesstoken`, {
    method: 'POST',
    headers: strange,
    body: new URLSearchParams({ grant_type: MARKUP, client_id: STRANGE_ID, client_secret: MARKUP }),
  })
  // Refusals are stored within five seconds.
  await until(async () => (await command('why', STRANGE_ID)).refusals.length > 0)
}

t.test('Hostile texts: no user input becomes markup', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const ids = await registerHostile(console)
  await sendHostile(console, ids)
  const { page, complaints } = await signIn(browser, console, { userAgent: MARKUP })
  const paths = [
    '/',
    '/applications',
    `/applications?search=${ENCODED}&status=${ENCODED}`,
    `/applications?after=${ENCODED}`,
    ...ids.map((id) => `/applications/${encodeURIComponent(id)}`),
    `/applications/${encodeURIComponent(STRANGE_ID)}/remove`,
    `/applications/${encodeURIComponent(`${STRANGE_ID}.`)}`,
    `/applications/${ENCODED}`,
    '/suites',
    `/suites?after=${ENCODED}`,
    '/suites/store',
    '/suites/store/remove',
    `/suites/${ENCODED}`,
    `/audit?actor=${ENCODED}&subject=${ENCODED}&since=${ENCODED}`,
    '/audit',
    '/operators',
    '/about',
    `/?done=${ENCODED}`,
    `/login?why=${ENCODED}`,
    `/${ENCODED}`,
  ]
  for (const path of paths) {
    await page.goto(console.origin + path)
    await expectText(t, page, path)
  }
  await page.goto(`${console.origin}/operators`)
  t.match(await page.locator('#main').textContent(), MARKUP, 'the text itself is shown')
  t.strictSame(others(complaints), [])
})

t.test('Hostile texts: input that a form shows again is text', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, complaints } = await signIn(browser, console)
  const { clientId } = await registerApplication(page, console.origin)
  await console.command('suites', 'register', 'store', '--name', 'Store API')
  const own = `${console.origin}/applications/${clientId}`
  let sent = 0
  for (const path of [
    '/new-application',
    '/new-suite',
    `/applications/${clientId}`,
    '/suites/store',
    '/audit',
    '/applications',
  ]) {
    await page.goto(console.origin + path)
    const forms = await page.locator('form:has(input, select)').count()
    for (let nth = 0; nth < forms; nth++) {
      await page.goto(console.origin + path)
      const loaded = page.waitForEvent('load')
      await page
        .locator('form:has(input, select)')
        .nth(nth)
        .evaluate((form: HTMLFormElement, markup) => {
          for (const field of form.elements) {
            if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) continue
            const hidden = Object.assign(document.createElement('input'), { type: 'hidden', name: field.name })
            hidden.value = markup
            field.replaceWith(hidden)
          }
          form.requestSubmit()
        }, MARKUP)
      await loaded
      sent++
      await expectText(t, page, `${path}, form ${nth}`)
    }
  }
  t.ok(sent >= 9)
  await page.goto(own)
  await expectText(t, page, own)
  const { page: outside } = await visit(browser)
  await outside.goto(`${console.origin}/login`)
  await outside.getByRole('textbox').fill(MARKUP)
  await outside.getByRole('button', { name: 'Sign in' }).click()
  await outside.getByRole('textbox').and(outside.locator('[aria-invalid]')).waitFor()
  await expectText(t, outside, 'a wrong code')
  t.strictSame(others(complaints), [])
})

t.test('Hostile texts: no browser renders a response of the API as a page', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const ids = await registerHostile(console)
  await sendHostile(console, ids)
  const { admin_key: key } = await console.command('operators', 'key', 'anna', '--expires', '1d')
  const { page } = await visit(browser, { extraHTTPHeaders: { authorization: `Bearer ${key}` } })
  const paths = [
    '/applications',
    `/applications?search=${ENCODED}`,
    `/applications/${encodeURIComponent(STRANGE_ID)}`,
    `/applications/${encodeURIComponent(STRANGE_ID)}/diagnosis`,
    `/applications/${ENCODED}`,
    `/applications?limit=${ENCODED}`,
    '/suites',
    '/suites/store',
    '/operators',
    '/audit-events',
    '/statistics',
    `/${ENCODED}`,
  ]
  for (const path of paths) {
    const answer = await page.goto(`${console.origin}/admin/v1${path}`)
    t.match(await answer?.headerValue('content-type'), /^application\/(problem\+)?json/, path)
    t.equal(await answer?.headerValue('x-content-type-options'), 'nosniff')
    await expectText(t, page, path)
  }
  await page.goto(`${console.origin}/admin/v1/applications/${encodeURIComponent(STRANGE_ID)}`)
  t.equal(JSON.parse(await page.locator('body').innerText()).name, MARKUP, 'with the text unchanged')
})
