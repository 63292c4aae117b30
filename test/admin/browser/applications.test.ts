import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { confirm, registerApplication, shownCredentials, signIn, startBoth, untilDone } from '../../support/console.ts'

/** With and without JavaScript. */
const KINDS = [{ javaScriptEnabled: true }, { javaScriptEnabled: false }]

for (const options of KINDS) {
  const how = options.javaScriptEnabled ? 'with scripts' : 'without scripts'

  t.test(`Applications: its whole life cycle, ${how}`, { skip: NO_BROWSER }, async (t) => {
    const { browser, console } = await startBoth(t)
    await console.command('suites', 'register', 'store', '--name', 'Store API')
    await console.command('suites', 'register', 'prices', '--name', 'Price feed')
    const { page, complaints } = await signIn(browser, console, options)
    const { origin, token } = console

    await page.getByRole('link', { name: 'Applications', exact: true }).click()
    t.ok(await page.getByText('No application is registered yet').isVisible(), 'an empty list says what to do')
    const { clientId, clientSecret } = await registerApplication(page, origin)
    t.equal((await token(clientId, clientSecret)).status, 200, 'a registered one gets a token with what is shown')

    const own = `${origin}/applications/${clientId}`
    await page.goto(own)
    await page.locator('summary', { hasText: 'Rotate secret…' }).click()
    await page.getByRole('button', { name: 'Rotate' }).click()
    const rotated = await shownCredentials(page)
    t.not(rotated.clientSecret, clientSecret)
    t.equal((await token(clientId, rotated.clientSecret)).status, 200, 'a new secret is valid')
    t.equal((await token(clientId, clientSecret)).status, 200, 'and the old one, during the overlap')
    await page.reload()
    t.strictSame(await shownCredentials(page), rotated, 'a reload shows it again')
    const secrets = await console.command('secrets', 'list', clientId)
    t.equal(secrets.length, 2, 'and makes no second one')

    await page.goto(own)
    await page.getByLabel('Price feed').uncheck()
    await page.getByRole('button', { name: 'Save approvals' }).click()
    await untilDone(page)
    t.notOk(await page.getByLabel('Price feed').isChecked())
    t.strictSame((await console.command('applications', 'show', clientId)).suites, ['store'], 'approvals are withdrawn')

    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store front of the north')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Store front of the north' }).waitFor()

    await confirm(page, 'Suspend')
    t.equal((await token(clientId, clientSecret)).status, 401, 'a suspended one gets no token')
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.locator('summary', { hasText: 'Suspend…' }).waitFor()
    t.equal((await token(clientId, clientSecret)).status, 200, 'a resumed one gets one')

    const { body } = await token(clientId, clientSecret)
    const isGood = async () => {
      const headers = { authorization: `Bearer ${body.access_token}` }
      return (await fetch(`${console.address}/v1/oauth/verify/store`, { headers })).ok
    }
    t.ok(await isGood())
    await confirm(page, 'Revoke all tokens')
    t.notOk(await isGood(), 'tokens are revoked')

    await page.getByRole('link', { name: 'Remove…' }).click()
    await page.getByRole('button', { name: /^Remove/ }).click()
    await page.waitForURL(/\/applications(\?.*)?$/)
    t.equal((await token(clientId, clientSecret)).status, 401, 'a removed one is gone')
    t.ok(await page.getByText('No application is registered yet').isVisible())

    await page.goto(`${origin}/audit`)
    const rows = await page.getByRole('row').allTextContents()
    for (const action of [
      'registered',
      'rotated',
      'withdrawn',
      'updated',
      'suspended',
      'resumed',
      'revoked',
      'removed',
    ]) {
      const row = rows.find((text) => text.includes(action))
      t.match(row, /anna/, `the audit says who ${action}`)
    }
    t.strictSame(complaints, [])
  })
}

t.test('Applications: a wrong secret is explained on its page', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, complaints } = await signIn(browser, console)
  const { clientId, clientSecret } = await registerApplication(page, console.origin)
  t.equal((await console.token(clientId, clientSecret.replace(/.$/, '!'))).status, 401)
  await page.goto(`${console.origin}/applications/${clientId}`)
  // Refusals are stored within five seconds.
  while ((await page.getByText(/that it sends is wrong/).count()) === 0) {
    await page.waitForTimeout(500)
    await page.reload()
  }
  t.match(await page.locator('#main').textContent(), /wrong secret/i)
  t.strictSame(complaints, [])
})

t.test('Applications: a form shows errors at its fields and keeps what was typed', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  for (const options of KINDS) {
    const { page } = await signIn(browser, console, options)
    await page.goto(`${console.origin}/new-application`)
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store front')
    await page.getByLabel('Developer email').fill('nobody@')
    await page
      .locator('form[method=post]')
      .last()
      .evaluate((form: HTMLFormElement) => (form.noValidate = true))
      .catch(() => {})
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByRole('alert').waitFor()
    t.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'Store front')
    t.equal(await page.getByLabel('Developer email').inputValue(), 'nobody@')
    t.equal(await page.getByLabel('Developer email').getAttribute('aria-invalid'), 'true')
  }
})
