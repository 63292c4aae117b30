import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { signIn, startOnce } from '../../support/console.ts'
import { until } from '../../support/until.ts'

/** Payloads that would be noticed if they ran or were parsed as markup. */
const MARKUP = `"'><img src=x onerror="document.title='run'"><script>document.title='run'</script>`
const ENCODED = encodeURIComponent(MARKUP)

/** A payload without spaces, which client ids cannot contain. */
const STRANGE_ID = `"'><b/onmouseover=alert(1)>`

/** A server with markup in every possible place, also in refusals. */
const start = startOnce(async ({ command, address, token }) => {
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
})

browserTest('Hostile texts: no user input becomes markup on a page', async (t) => {
  const { browser, console } = await start(t)
  const { page, complaints } = await signIn(browser, console, { userAgent: MARKUP })
  const strange = encodeURIComponent(STRANGE_ID)
  for (const path of [
    ...['/', '/applications', '/suites', '/suites/store', '/suites/store/remove', '/audit', '/about'],
    ...[STRANGE_ID, `${STRANGE_ID}.`, MARKUP].map((id) => `/applications/${encodeURIComponent(id)}`),
    `/applications/${strange}/remove`,
    ...[`/applications?search=${ENCODED}&status=${ENCODED}`, `/applications?after=${ENCODED}`],
    ...[`/suites?after=${ENCODED}`, `/suites/${ENCODED}`, `/?done=${ENCODED}`, `/login?why=${ENCODED}`, `/${ENCODED}`],
    ...[`/audit?actor=${ENCODED}&subject=${ENCODED}&since=${ENCODED}`, '/operators'],
  ]) {
    await page.goto(console.origin + path)
    t.not(await page.title(), 'run', path)
    const foreign = 'img[src="x"], svg[onload], b, i, [onerror], [onmouseover], script:not([src^="/assets/"])'
    t.equal(await page.locator(foreign).count(), 0, `${path}: no element of theirs`)
  }
  t.match(await page.locator('#main').textContent(), MARKUP, 'the text itself is shown')
  // What remains are error statuses, and malformed dates and numbers.
  const others = complaints.filter((text) => !/status of 4\d\d|does not conform|cannot be parsed/.test(text))
  t.strictSame(others, [])
})

/** A malicious site on this machine that serves this page at every path. Resolves to its address. */
async function startStranger(t: Test, body: string): Promise<string> {
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(body))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

browserTest('Other sites: their forms, frames and scripts can neither change nor read anything', async (t) => {
  const { browser, console } = await start(t)
  const { clientId } = await console.register()
  const { page } = await signIn(browser, console)
  const paths = [`/applications/${clientId}/suspend`, `/applications/${clientId}/remove`, '/applications', '/logout']
  // Another port is still the same site, so even SameSite cookies are sent.
  const forms = paths.map((path) => `<form method="post" action="${console.origin}${path}"><button>go</button></form>`)
  const stranger = await startStranger(t, forms.join(''))
  for (const [index, path] of paths.entries()) {
    await page.goto(stranger)
    const answer = page.waitForResponse((response) => response.url() === console.origin + path)
    await page.getByRole('button').nth(index).click()
    t.equal((await answer).status(), 403, path)
  }

  await page.goto(await startStranger(t, `<iframe src="${console.origin}/applications"></iframe>`))
  const frame = page.frames()[1]
  await frame?.waitForLoadState().catch(() => {})
  t.notOk(await frame?.getByText('Signed in as').count())

  await page.goto(await startStranger(t, '<p>hello'))
  const outcomes = await page.evaluate(
    async ([origin, id]) => {
      const ask = (path: string, options: RequestInit) =>
        fetch(origin + path, { credentials: 'include', ...options }).then(
          async (answer) => `${answer.type} ${answer.status} ${(await answer.text()).length}`,
          () => 'blocked',
        )
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      return [
        await ask(`/applications/${id}`, {}),
        await ask(`/applications/${id}`, { mode: 'no-cors' }),
        await ask(`/applications/${id}/suspend`, { method: 'POST', headers: form, mode: 'no-cors' }),
        await ask(`/applications/${id}/suspend`, { method: 'POST', headers: form }),
        await ask(`/admin/v1/applications/${id}`, { method: 'DELETE' }),
        await ask('/live', {}),
      ]
    },
    [console.origin, clientId],
  )
  for (const outcome of outcomes) t.ok(['blocked', 'opaque 0 0'].includes(outcome), outcome)
  t.match(await console.command('applications', 'show', clientId), { status: 'active' })
  await page.goto(`${console.origin}/applications`)
  t.ok(await page.getByText('Signed in as anna').isVisible(), 'the operator is still signed in')
})
