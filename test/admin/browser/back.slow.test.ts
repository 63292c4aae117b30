import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { browserTest, startOrdinaryBrowser } from '../../support/browser.ts'
import { makeSecret, registerApplication, shownCredentials, signIn, startBoth, visit } from '../../support/console.ts'
import { until } from '../../support/until.ts'

/** The page as it is, also while another one is loaded. */
async function contentOf(page: Page): Promise<string> {
  let content: string | undefined
  await until(async () => {
    content = await page.content().catch(() => undefined)
    return content !== undefined
  })
  return String(content)
}

/** Leaves a page that shows a secret, goes back, and looks for the secret. */
async function leaveAndReturn(t: Test, page: Page, secret: string, leave: () => Promise<unknown>): Promise<void> {
  t.match(await contentOf(page), secret)
  await leave()
  await page.waitForURL(/\/(audit|health\/live)$/)
  // Fails where the browser shows that the form would have to be sent again.
  await page.goBack({ timeout: 3000 }).catch(() => {})
  t.notMatch(await contentOf(page), secret)
}

for (const javaScriptEnabled of [true, false]) {
  const scripts = javaScriptEnabled ? 'with' : 'without'
  browserTest(`Secrets: Back shows none again in an ordinary browser, ${scripts} scripts`, async (t) => {
    const { console } = await startBoth(t, { HANDOVER: 'on', PUBLIC_URL: 'https://token.example' })
    await console.command('suites', 'register', 'store', '--name', 'Store API')
    const browser = await startOrdinaryBrowser(t)
    const { page } = await signIn(browser, console, { javaScriptEnabled })
    const toAudit = () => page.getByRole('link', { name: 'Audit', exact: true }).click()
    const { clientId, clientSecret } = await registerApplication(page, console.origin)
    await leaveAndReturn(t, page, clientSecret, toAudit)

    for (const path of [`/applications/${clientId}`, '/suites/store']) {
      await page.goto(console.origin + path)
      await leaveAndReturn(t, page, (await makeSecret(page)).clientSecret, toAudit)
      await page.goto(console.origin + path)
      // As from the address bar.
      await leaveAndReturn(t, page, (await makeSecret(page)).clientSecret, () => page.goto(`${console.origin}/audit`))
    }

    await page.goto(`${console.origin}/new-suite`)
    await page.getByLabel('Id', { exact: true }).fill('prices')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Price API')
    await page.getByRole('button', { name: 'Register' }).click()
    await leaveAndReturn(t, page, (await shownCredentials(page)).clientSecret, toAudit)

    await page.goto(`${console.origin}/applications/${clientId}`)
    await page.getByText('Rotate secret…').click()
    await page.getByRole('button', { name: 'Make a hand-over link' }).click()
    const link = String(await page.locator('#link').textContent())
    await leaveAndReturn(t, page, link, toAudit)

    const recipient = await visit(browser, { javaScriptEnabled })
    await recipient.page.goto(link.replace('https://token.example', console.address))
    if (!javaScriptEnabled) await recipient.page.getByLabel('Code').fill(link)
    await recipient.page.getByRole('button', { name: 'Show the secret' }).click()
    const [, secret = ''] = await recipient.page.locator('dd code').allTextContents()
    await leaveAndReturn(t, recipient.page, secret, () => recipient.page.goto(`${console.address}/health/live`))
  })
}

browserTest('Secrets: a reload shows a new one again, also with scripts', async (t) => {
  const { console } = await startBoth(t)
  const { page } = await signIn(await startOrdinaryBrowser(t), console)
  const credentials = await registerApplication(page, console.origin)
  await page.reload()
  t.strictSame(await shownCredentials(page), credentials)
  t.equal((await console.command('secrets', 'list', credentials.clientId)).length, 1, 'and makes no second one')
})
