import { browserTest } from '../../support/browser.ts'
import {
  confirm,
  makeSecret,
  registerApplication,
  shownCredentials,
  signIn,
  startBoth,
  untilDone,
} from '../../support/console.ts'

browserTest('Applications: one lives its whole life without scripts', async (t) => {
  const { browser, console } = await startBoth(t)
  const { origin, token, command } = console
  await command('suites', 'register', 'store', '--name', 'Store API')
  await command('suites', 'register', 'prices', '--name', 'Price feed')
  const { page, complaints } = await signIn(browser, console, { javaScriptEnabled: false })
  t.equal(page.url(), `${origin}/`)

  await page.getByRole('link', { name: 'Applications', exact: true }).click()
  t.ok(await page.getByText('No application is registered yet').isVisible(), 'an empty list says what to do')
  const { clientId, clientSecret } = await registerApplication(page, origin)
  const own = `${origin}/applications/${clientId}`
  const status = async (secret = clientSecret) => (await token(clientId, secret)).status
  t.equal(await status(), 200, 'a registered one gets a token with what is shown')

  await page.goto(own)
  const rotated = await makeSecret(page)
  t.not(rotated.clientSecret, clientSecret)
  t.strictSame([await status(rotated.clientSecret), await status()], [200, 200], 'both are valid during the overlap')
  await page.reload()
  t.strictSame(await shownCredentials(page), rotated, 'a reload shows it again')
  t.equal((await command('secrets', 'list', clientId)).length, 2, 'and makes no second one')

  await page.goto(own)
  await page.getByLabel('Price feed').uncheck()
  await page.getByRole('button', { name: 'Save approvals' }).click()
  await untilDone(page)
  t.notOk(await page.getByLabel('Price feed').isChecked())
  t.strictSame((await command('applications', 'show', clientId)).suites, ['store'], 'approvals are withdrawn')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store front of the north')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Store front of the north' }).waitFor()

  await confirm(page, 'Suspend')
  t.equal(await status(), 401, 'a suspended one gets no token')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator('summary', { hasText: 'Suspend…' }).waitFor()
  t.equal(await status(), 200, 'a resumed one gets one')

  const { body } = await token(clientId, clientSecret)
  const headers = { authorization: `Bearer ${body.access_token}` }
  const isGood = async () => (await fetch(`${console.address}/v1/oauth/verify/store`, { headers })).ok
  t.ok(await isGood())
  await confirm(page, 'Revoke all tokens')
  t.notOk(await isGood(), 'tokens are revoked')

  const [young, old] = await page.locator('tr summary', { hasText: 'Revoke…' }).all()
  await old?.click()
  const revoke = page.locator('form:visible').getByRole('button', { name: 'Revoke', exact: true })
  await revoke.click()
  await untilDone(page)
  t.strictSame([await status(), await status(rotated.clientSecret)], [401, 200], 'a revoked secret is refused')
  await young?.click()
  await revoke.click()
  t.equal(await status(rotated.clientSecret), 200, 'revoking the last one needs a second confirmation')
  await page.locator('form:visible [name=force]').check()
  await revoke.click()
  await untilDone(page)
  t.equal(await status(rotated.clientSecret), 401)

  await page.getByRole('link', { name: 'Remove…' }).click()
  await page
    .locator('#main')
    .getByRole('button', { name: /^Remove/ })
    .click()
  await page.waitForURL(/\/applications(\?.*)?$/)
  t.ok(await page.getByText('No application is registered yet').isVisible())
  t.strictSame(complaints, [])
})
