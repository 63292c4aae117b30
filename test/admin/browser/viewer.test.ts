import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'

t.test('Viewers: they see every page, and no form that changes anything', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { command, origin } = console
  await command('operators', 'add', 'vera', '--role', 'viewer')
  await command('suites', 'register', 'store', '--name', 'Store API')
  const { client_id: id } = await command(
    ...['applications', 'register', '--name', 'Store front', '--developer-email', 'dev@partner.example'],
  )
  const before = await command('audit', 'list')
  const { page, context, complaints } = await signIn(browser, console, { name: 'vera' })

  for (const path of [
    '/',
    '/applications',
    `/applications/${id}`,
    '/suites',
    '/suites/store',
    '/audit',
    '/operators',
    '/about',
  ]) {
    t.equal((await page.goto(origin + path))?.status(), 200, path)
    const forms = await page
      .locator('form[method=post]')
      .evaluateAll((all) => all.map((form) => form.getAttribute('action')))
    const own = ['/logout', ...(path === '/operators' ? ['/operators/vera/sessions/1/end'] : [])]
    t.strictSame(forms, own, `${path} has the form to sign out, and no other`)
  }
  t.strictSame(complaints, [])

  const changes = [
    ['/applications', 'name=x&developer_email=x@x.example&request_key=1'],
    ...['suspend', 'resume', 'remove', 'revoke-tokens', 'approvals', 'secrets', 'secrets/1/revoke', 'names'].map(
      (action) => [`/applications/${id}/${action}`, 'name=x&request_key=1'] as const,
    ),
    ['/suites', 'suite_id=x&name=x&request_key=1'],
    ...['names', 'remove', 'secrets', 'secrets/1/revoke'].map(
      (action) => [`/suites/store/${action}`, 'name=x'] as const,
    ),
    ...['remove', 'keys/1/revoke', 'sessions/1/end'].map((action) => [`/operators/anna/${action}`, ''] as const),
  ] as const
  await page.goto(`${origin}/about`)
  for (const [path, body] of changes) {
    // As a form of the console's own would, which the viewer makes by hand.
    const answer = await page.evaluate(
      async ([path, body]) => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        return (await fetch(path, { method: 'POST', headers, body })).status
      },
      [path, body] as const,
    )
    t.equal(answer, 403, `POST ${path}`)
  }
  const [cookie] = await context.cookies()
  for (const [method, path] of [
    ['DELETE', `/admin/v1/applications/${id}`],
    ['POST', '/admin/v1/applications'],
  ] as const) {
    const headers = { cookie: `${cookie?.name}=${cookie?.value}`, 'sec-fetch-site': 'same-origin' }
    const answer = await fetch(origin + path, { method, headers })
    t.equal(answer.status, 401, `${method} ${path}: the session is none of the API's`)
  }
  const after = await command('audit', 'list')
  const changed = after.slice(0, after.length - before.length)
  t.strictSame(
    changed.map(({ action }: { action: string }) => action),
    ['operator logged in', 'login link made'],
    'nothing was changed',
  )
})
