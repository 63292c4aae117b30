import type { Page } from 'playwright-core'
import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { registerApplication, signIn, startBoth } from '../../support/console.ts'

/** Presses every copy button of a page. Resolves to the copied texts, by the id of the element to copy. */
async function copyAll(page: Page): Promise<Record<string, string>> {
  const copied: Record<string, string> = {}
  for (const button of await page.locator('button[data-copy]:visible').all()) {
    await page.evaluate(() => navigator.clipboard.writeText('nothing'))
    const before = await button.textContent()
    await button.click()
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== 'nothing')
    copied[(await button.getAttribute('data-copy')) as string] = await page.evaluate(() =>
      navigator.clipboard.readText(),
    )
    if (before === (await button.textContent())) throw new Error('It does not say that it has copied.')
  }
  return copied
}

t.test('Copying: a button copies exactly the text beside it', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, context, complaints } = await signIn(browser, console)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: console.origin })
  const { clientId, clientSecret } = await registerApplication(page, console.origin)
  const copied = await copyAll(page)
  t.match(copied, { 'client-id': clientId, 'client-secret': clientSecret })
  t.equal(
    (await console.token(clientId, copied['client-secret'] as string)).status,
    200,
    'what was copied gets a token',
  )

  await page.goto(`${console.origin}/applications/${clientId}`)
  t.match(await copyAll(page), { 'client-id': clientId })
  t.strictSame(complaints, [])
})

t.test('Copying: without JavaScript there are no copy buttons', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page } = await signIn(browser, console, { javaScriptEnabled: false })
  await registerApplication(page, console.origin)
  t.equal(await page.locator('button[data-copy]:visible').count(), 0)
})
