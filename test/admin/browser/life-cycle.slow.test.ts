import { browserTest } from '../../support/browser.ts'
import { confirm, makeSecret, registerApplication, shownCredentials, signIn, startBoth } from '../../support/console.ts'

browserTest('Console: an application is operated from its registration to its removal, without scripts', async (t) => {
  const { browser, console } = await startBoth(t)
  const { origin, token, command } = console
  for (const suite of ['store', 'prices']) await command('suites', 'register', suite, '--name', `API ${suite}`)
  const { page, complaints } = await signIn(browser, console, { javaScriptEnabled: false })
  t.equal(page.url(), `${origin}/`)
  const { clientId, clientSecret } = await registerApplication(page, origin)
  const own = `${origin}/applications/${clientId}`
  const status = async (secret = clientSecret) => (await token(clientId, secret)).status
  t.equal(await status(), 200, 'a registered one gets a token with what is shown')

  await page.goto(own)
  const rotated = await makeSecret(page)
  t.strictSame([await status(rotated.clientSecret), await status()], [200, 200], 'both are valid during the overlap')
  await page.reload()
  t.strictSame(await shownCredentials(page), rotated, 'a reload shows it again')
  t.equal((await command('secrets', 'list', clientId)).length, 2, 'and makes no second one')

  await page.goto(own)
  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  await page.getByLabel('API prices').uncheck()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store front of the north')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The changes are saved.').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Store front of the north' }).waitFor()

  await confirm(page, 'Suspend')
  t.equal(await status(rotated.clientSecret), 401, 'a suspended one gets none')
  await page.getByRole('button', { name: 'Resume' }).click()
  await confirm(page, 'Revoke all tokens')
  const { name, status: now, suites } = await command('applications', 'show', clientId)
  t.strictSame([name, now, suites], ['Store front of the north', 'active', ['store']])

  await page.locator('tr summary', { hasText: 'Revoke…' }).last().click()
  const revoke = page.locator('form:visible').getByRole('button', { name: 'Revoke', exact: true })
  await revoke.click()
  await page.getByText('The secret is revoked.').waitFor()
  t.strictSame([await status(), await status(rotated.clientSecret)], [401, 200], 'a revoked secret is refused')
  await page.locator('tr summary', { hasText: 'Revoke…' }).click()
  const typed = page.locator('form:visible [name=typed_name]')
  await revoke.click()
  t.equal(await status(rotated.clientSecret), 200, 'revoking the last one needs the name of the application')
  await typed.fill('Store front')
  await revoke.click()
  await page.getByText('This name was not typed.').waitFor()
  t.equal(await status(rotated.clientSecret), 200, 'not another one')
  await typed.fill('Store front of the north')
  await revoke.click()
  await page.getByText('The secret is revoked.').waitFor()
  t.equal(await status(rotated.clientSecret), 401)

  await page.getByRole('link', { name: 'Remove…' }).click()
  const remove = page.locator('#main').getByRole('button', { name: /^Remove/ })
  await typed.fill('Store front of the north')
  await remove.click()
  await page.getByText('No application is registered yet').waitFor()
  t.strictSame(
    complaints.filter((text) => !text.includes('422')),
    [],
  )
})
