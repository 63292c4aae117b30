import type { Page } from 'playwright-core'
import { browserTest } from '../../support/browser.ts'
import {
  type Console,
  confirm,
  makeSecret,
  registerApplication,
  shownCredentials,
  signIn,
  startBoth,
  untilDone,
} from '../../support/console.ts'

/** Whether the suite `store` with this secret may ask about tokens (RFC 7662 §2.1). */
async function mayAsk({ address }: Console, secret: string): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`store:${secret}`).toString('base64')}`
  const body = new URLSearchParams({ token: 'none' })
  return (await fetch(`${address}/v1/oauth/introspect`, { method: 'POST', headers: { authorization }, body })).ok
}

/** Changes the name on the page of an application or a suite. */
async function rename(page: Page, name: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

/** Removes an application or a suite, whose page is shown. */
async function remove(page: Page, list: RegExp): Promise<void> {
  await page.getByRole('link', { name: 'Remove…' }).click()
  const button = page.locator('#main').getByRole('button', { name: /^Remove/ })
  await button.click()
  await page.waitForURL(list)
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with scripts' : 'without scripts'

  browserTest(`Applications: its whole life cycle, ${how}`, async (t) => {
    const { browser, console } = await startBoth(t)
    const { origin, token, command } = console
    await command('suites', 'register', 'store', '--name', 'Store API')
    await command('suites', 'register', 'prices', '--name', 'Price feed')
    const { page, complaints } = await signIn(browser, console, { javaScriptEnabled })
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
    await rename(page, 'Store front of the north')

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

    await remove(page, /\/applications(\?.*)?$/)
    t.equal(await status(), 401, 'a removed one is gone')
    t.ok(await page.getByText('No application is registered yet').isVisible())
    t.strictSame(complaints, [])
  })

  browserTest(`Suites: its whole life cycle, ${how}`, async (t) => {
    const { browser, console } = await startBoth(t)
    const { origin, command } = console
    const { page, complaints } = await signIn(browser, console, { javaScriptEnabled })
    await page.getByRole('link', { name: 'Suites', exact: true }).click()
    await page.getByRole('link', { name: 'Register a suite' }).click()
    await page.getByRole('textbox', { name: 'Id', exact: true }).fill('store')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store API')
    await page.getByRole('button', { name: 'Register' }).click()
    const { clientId, clientSecret: first } = await shownCredentials(page)
    t.equal(clientId, 'store')
    t.ok(await mayAsk(console, first), 'a registered one may ask with what is shown')
    await page.reload()
    t.equal((await shownCredentials(page)).clientSecret, first, 'a reload shows it again')
    t.equal((await command('suites', 'list')).length, 1, 'and registers no second one')

    await page.goto(`${origin}/suites/store`)
    await page.locator('summary', { hasText: 'Revoke' }).click()
    const last = page.locator('form:visible').filter({ has: page.getByRole('checkbox') })
    await last.getByRole('button', { name: 'Revoke', exact: true }).click()
    t.ok(await mayAsk(console, first), 'revoking the last secret needs a second confirmation')
    await last.getByRole('checkbox').check()
    await last.getByRole('button', { name: 'Revoke', exact: true }).click()
    await untilDone(page)
    t.notOk(await mayAsk(console, first))
    const { clientSecret: second } = await makeSecret(page)
    t.ok(await mayAsk(console, second), 'a new secret is valid')

    await page.goto(`${origin}/suites/store`)
    await rename(page, 'Store of the north')
    await remove(page, /\/suites(\?.*)?$/)
    t.strictSame(await command('suites', 'list'), [], 'a removed one is gone')
    t.strictSame(complaints, [])
  })
}
