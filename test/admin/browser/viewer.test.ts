import t from 'tap'
import { createAdminWorld } from '../../support/admin.ts'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'

t.test('Viewers: they see every page, but no form that makes a change', { skip: NO_BROWSER }, async (t) => {
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

  // Handmade requests, like those of the console's forms and of programs with a key.
  const { admin_key: key } = await command('operators', 'key', 'vera', '--expires', '1d')
  const { routes } = await createAdminWorld(t)
  await page.goto(`${origin}/about`)
  let tried = 0
  for (const { method, url } of routes) {
    if (['GET', 'HEAD'].includes(method) || ['/login', '/logout'].includes(url)) continue
    const path = withIds(url, { application: id, suite: 'store', operator: 'anna' })
    const isApi = path.startsWith('/admin/v1/')
    const form = 'name=x&suite_id=x&developer_email=x@x.example&request_key=1&force=yes'
    const json = '{"name":"x","id":"x","developer_email":"x@x.example"}'
    const type = isApi ? 'application/json' : 'application/x-www-form-urlencoded'
    const headers = { 'content-type': type, ...(isApi && { authorization: `Bearer ${key}` }) }
    const status = await page.evaluate(async ([path, options]) => (await fetch(path, options)).status, [
      path,
      { method, headers, body: isApi ? json : form },
    ] as const)
    t.equal(status, 403, `${method} ${path}`)
    tried++
  }
  t.ok(tried > 25)
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
    ['operator key added', 'operator logged in', 'login link made'],
    'nothing was changed',
  )
})

/** A path for a route that refers to existing subjects: ids of secrets, keys and sessions start at 1. */
function withIds(url: string, { application, suite, operator }: Record<'application' | 'suite' | 'operator', string>) {
  const owner = url.includes('/applications/') ? application : suite
  return url
    .replace(/(?<=\/(applications|suites)\/):\w+/, owner)
    .replace(/(?<=\/suites\/):\w+/, suite)
    .replace(/(?<=\/operators\/):\w+/, operator)
    .replace(/:\w+/, '1')
}
