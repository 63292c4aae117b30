import { browserTest } from '../../support/browser.ts'
import { signIn, startOnce } from '../../support/console.ts'
import { hasColours, passesAxe } from '../../support/looks.ts'

const start = startOnce()

browserTest('First hour: the first token is ticked off while the page is open', async (t) => {
  const { browser, console } = await start(t)
  const { clientId, clientSecret } = await console.register()
  const { page, complaints } = await signIn(browser, console)
  const step = page.locator('.steps summary', { hasText: 'Get a token' })
  await step.getByText('to do').waitFor()
  await page.locator('summary', { hasText: 'Check it at a gateway' }).click()
  await page.locator('summary', { hasText: 'nginx' }).click()
  await passesAxe(t, page, 'the list')
  await console.token(clientId, clientSecret)
  await step.getByText('done').waitFor()
  t.ok(await page.getByText('auth_request /check-token;').isVisible(), 'what was opened stays open')
  await page.getByRole('button', { name: 'Hide this list' }).click()
  await page.waitForURL(`${console.origin}/`)
  t.equal(await step.count(), 0)
  t.strictSame(complaints, [])
})

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with scripts' : 'without scripts'
  browserTest(`Preferences: an operator chooses a theme and a time zone, ${how}`, async (t) => {
    const { browser, console } = await start(t)
    const { page } = await signIn(browser, console, {
      javaScriptEnabled,
      timezoneId: 'Asia/Tokyo',
      colorScheme: 'light',
    })
    await page.goto(`${console.origin}/about`)
    const time = page.locator('dd time').first()
    const iso = String(await time.getAttribute('datetime'))
    const inUtc = iso.slice(0, 16).replace('T', ' ')
    t.not(await time.textContent(), inUtc)
    await page.getByText('Signed in as anna').click()
    await page.getByLabel('Theme').selectOption('Dark')
    await page.getByLabel('Time zone').selectOption('UTC')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForLoadState()
    t.equal(page.url(), `${console.origin}/about`, 'it is the same page')
    await page.getByText('Times are in UTC.').waitFor()
    t.match(await time.textContent(), new RegExp(`^${inUtc}( UTC)?$`))
    if (javaScriptEnabled) await hasColours(t, page, 'dark')
  })
}
