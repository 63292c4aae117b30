import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { type Console, signIn, startBoth, visit } from '../../support/console.ts'
import { until } from '../../support/until.ts'

/** Payloads that would be noticed if they ran or were parsed as markup. */
const MARKUP = `"'><img src=x onerror="document.title='run'"><script>document.title='run'</script>`
const ENCODED = encodeURIComponent(MARKUP)

/** A payload without spaces, which client ids cannot contain. */
const STRANGE_ID = `"'><b/onmouseover=alert(1)>`

/** No payload became an element of the page. */
async function expectText(t: Test, page: Page, what: string): Promise<void> {
  t.not(await page.title(), 'run', what)
  const foreign = 'img[src="x"], svg[onload], b, i, [onerror], [onmouseover], script:not([src^="/assets/"])'
  t.equal(await page.locator(foreign).count(), 0, `${what}: no element of theirs`)
}

/** Registers an application and a suite, and causes refusals that are stored, with markup in every possible place. */
async function sendHostile({ command, address, token }: Console): Promise<void> {
  await command('suites', 'register', 'store', '--name', MARKUP)
  const email = '"<b>x</b>"@partner.example'
  await command(
    ...['applications', 'register', '--name', MARKUP, '--developer-email', email, '--client-id', STRANGE_ID],
  )
  const strange = { 'user-agent': MARKUP, 'x-request-id': MARKUP.replace(/\s/g, ''), referer: MARKUP }
  for (const id of [STRANGE_ID, MARKUP, `${STRANGE_ID}.`]) await token(id, MARKUP)
  for (const suite of ['store', ENCODED]) {
    await fetch(`${address}/v1/oauth/verify/${suite}`, { headers: { ...strange, authorization: 'Bearer nonsense' } })
  }
  const body = new URLSearchParams({ grant_type: MARKUP, client_id: STRANGE_ID, client_secret: MARKUP })
  await fetch(`${address}/v1/oauth/accesstoken`, { method: 'POST', headers: strange, body })
  // Refusals are stored within five seconds.
  await until(async () => (await command('why', STRANGE_ID)).refusals.length > 0)
}

browserTest('Hostile texts: no user input becomes markup, neither on a page nor in an answer of the API', async (t) => {
  const { browser, console } = await startBoth(t)
  await sendHostile(console)
  const { page, complaints } = await signIn(browser, console, { userAgent: MARKUP })
  const strange = encodeURIComponent(STRANGE_ID)
  for (const path of [
    ...['/', '/applications', '/suites', '/suites/store', '/suites/store/remove', '/audit', '/operators', '/about'],
    ...[STRANGE_ID, `${STRANGE_ID}.`, MARKUP].map((id) => `/applications/${encodeURIComponent(id)}`),
    `/applications/${strange}/remove`,
    ...[`/applications?search=${ENCODED}&status=${ENCODED}`, `/applications?after=${ENCODED}`],
    ...[`/suites?after=${ENCODED}`, `/suites/${ENCODED}`, `/?done=${ENCODED}`, `/login?why=${ENCODED}`, `/${ENCODED}`],
    `/audit?actor=${ENCODED}&subject=${ENCODED}&since=${ENCODED}`,
  ]) {
    await page.goto(console.origin + path)
    await expectText(t, page, path)
  }
  await page.goto(`${console.origin}/operators`)
  t.match(await page.locator('#main').textContent(), MARKUP, 'the text itself is shown')
  // What remains are error statuses, and malformed dates and numbers.
  const others = complaints.filter((text) => !/status of 4\d\d|does not conform|cannot be parsed/.test(text))
  t.strictSame(others, [])

  const { admin_key: key } = await console.command('operators', 'key', 'anna', '--expires', '1d')
  const { page: program } = await visit(browser, { extraHTTPHeaders: { authorization: `Bearer ${key}` } })
  const [one, api] = [`/applications/${strange}`, `${console.origin}/admin/v1`]
  for (const path of [
    ...['/applications', `/applications?search=${ENCODED}`, one, `${one}/diagnosis`, `/applications/${ENCODED}`],
    ...[`/applications?limit=${ENCODED}`, '/suites', '/suites/store', '/operators', '/audit-events', '/statistics'],
    `/${ENCODED}`,
  ]) {
    const answer = await program.goto(api + path)
    t.match(await answer?.headerValue('content-type'), /^application\/(problem\+)?json/, path)
    t.equal(await answer?.headerValue('x-content-type-options'), 'nosniff')
    await expectText(t, program, path)
  }
  await program.goto(api + one)
  t.equal(JSON.parse(await program.locator('body').innerText()).name, MARKUP, 'with the text unchanged')
})
