import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { type Console, makeSecret, shownCredentials, signIn, startBoth, untilDone } from '../../support/console.ts'

/** Whether a suite with this secret may ask about tokens (RFC 7662 §2.1). */
async function mayAsk({ address }: Console, suiteId: string, secret: string): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`${suiteId}:${secret}`).toString('base64')}`
  const body = new URLSearchParams({ token: 'none' })
  return (await fetch(`${address}/v1/oauth/introspect`, { method: 'POST', headers: { authorization }, body })).ok
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with scripts' : 'without scripts'

  t.test(`Suites: its whole life cycle, ${how}`, { skip: NO_BROWSER }, async (t) => {
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
    t.ok(await mayAsk(console, 'store', first), 'a registered one may ask with what is shown')
    await page.reload()
    t.equal((await shownCredentials(page)).clientSecret, first, 'a reload shows it again')
    t.equal((await command('suites', 'list')).length, 1, 'and registers no second one')

    const own = `${origin}/suites/store`
    await page.goto(own)
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store of the north')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await untilDone(page)
    t.match(await command('suites', 'show', 'store'), { name: 'Store of the north' })

    const { clientSecret: second } = await makeSecret(page)
    t.ok(await mayAsk(console, 'store', second), 'a new secret is valid')
    t.ok(await mayAsk(console, 'store', first), 'and the old one during the overlap')

    await page.goto(own)
    const row = page.getByRole('row').filter({ hasText: /^1\b/ })
    await row.locator('summary').click()
    await page.locator('form:visible').getByRole('button', { name: 'Revoke', exact: true }).click()
    await untilDone(page)
    t.notOk(await mayAsk(console, 'store', first), 'a revoked secret is refused')
    t.ok(await mayAsk(console, 'store', second), 'and no other')

    const { clientSecret: third } = await makeSecret(page, { overlap: '0' })
    t.notOk(await mayAsk(console, 'store', second), 'without overlap, the old one ends at once')

    await page.goto(own)
    await page.locator('summary', { hasText: 'Revoke' }).click()
    const last = page.locator('form:visible').filter({ has: page.getByRole('checkbox') })
    await last.getByRole('button', { name: 'Revoke', exact: true }).click()
    t.ok(await mayAsk(console, 'store', third), 'revoking the last secret needs a second confirmation')
    await last.getByRole('checkbox').check()
    await last.getByRole('button', { name: 'Revoke', exact: true }).click()
    await untilDone(page)
    t.notOk(await mayAsk(console, 'store', third))

    await page.getByRole('link', { name: 'Remove…' }).click()
    await page
      .locator('#main')
      .getByRole('button', { name: /^Remove/ })
      .click()
    await page.waitForURL(/\/suites(\?.*)?$/)
    t.strictSame(await command('suites', 'list'), [], 'a removed one is gone')

    const events: { action: string; actor: string; origin: string }[] = await command('audit', 'list')
    const actions = events.filter(({ origin }) => origin === 'console').map(({ action }) => action)
    t.strictSame(actions.toReversed().slice(1), [
      'suite registered',
      'suite updated',
      'secret rotated',
      'secret revoked',
      'secret rotated',
      'secret revoked',
      'suite removed',
    ])
    t.strictSame(complaints, [])
  })
}
