import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'
import { HOSTILE_NAMES } from '../../support/hostile.ts'

/** What would tell of itself if it was run or taken for markup. */
const MARKUP = `"'><img src=x onerror="document.title='run'"><script>document.title='run'</script>`

t.test('Hostile texts: nothing that anybody can fill in is taken for markup', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { command, origin, address, token } = console
  await command('suites', 'register', 'store', '--name', MARKUP)
  const ids: string[] = []
  for (const [index, name] of [MARKUP, ...HOSTILE_NAMES].entries()) {
    const registered = await command(
      ...['applications', 'register', '--name', name, '--developer-email', `"<b>x</b>"@partner-${index}.example`],
      ...(index === 0 ? ['--client-id', '<b/onmouseover=alert(1)>'] : []),
    )
    ids.push(registered.client_id)
  }

  const strange = { 'user-agent': MARKUP, 'x-request-id': MARKUP.replace(/\s/g, ''), referer: MARKUP }
  for (const id of ids) await token(id, MARKUP)
  await token(MARKUP, MARKUP)
  for (const suite of ['store', encodeURIComponent(MARKUP)]) {
    await fetch(`${address}/v1/oauth/verify/${suite}`, { headers: { ...strange, authorization: 'Bearer nonsense' } })
  }
  await fetch(`${address}/v1/oauth/accesstoken`, {
    method: 'POST',
    headers: strange,
    body: new URLSearchParams({ grant_type: MARKUP, client_id: ids[0] as string, client_secret: MARKUP }),
  })

  const { page, complaints } = await signIn(browser, console, { userAgent: MARKUP })
  await page.waitForTimeout(6000) // Refusals are stored within five seconds.
  const paths = [
    '/',
    '/applications',
    `/applications?search=${encodeURIComponent(MARKUP)}&status=${encodeURIComponent(MARKUP)}`,
    `/applications?after=${encodeURIComponent(MARKUP)}`,
    ...ids.map((id) => `/applications/${encodeURIComponent(id)}`),
    `/applications/${encodeURIComponent(ids[0] as string)}/remove`,
    `/applications/${encodeURIComponent(MARKUP)}`,
    '/suites',
    '/suites/store',
    `/suites/${encodeURIComponent(MARKUP)}`,
    `/audit?actor=${encodeURIComponent(MARKUP)}&subject=${encodeURIComponent(MARKUP)}`,
    '/audit',
    '/operators',
    '/about',
    `/?done=${encodeURIComponent(MARKUP)}`,
    `/login?${encodeURIComponent(MARKUP)}`,
    `/${encodeURIComponent(MARKUP)}`,
  ]
  for (const path of paths) {
    await page.goto(origin + path)
    t.not(await page.title(), 'run', path)
    const foreign = await page.locator('img[src="x"], svg[onload], b, i, [onerror], [onmouseover]').count()
    t.equal(foreign, 0, `${path}: no element of theirs`)
    t.equal(await page.locator('script:not([src^="/assets/"])').count(), 0, 'and no script')
  }
  t.strictSame(
    complaints.filter((text) => !/status of 4\d\d /.test(text)),
    [],
  )
})
