import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { registerApplication, signIn, startBoth } from '../../support/console.ts'

t.test(
  'Times: they are shown in the time zone of the reader, which is named in the footer',
  { skip: NO_BROWSER },
  async (t) => {
    const { browser, console } = await startBoth(t)
    const { page } = await signIn(browser, console, { timezoneId: 'Asia/Tokyo' })
    await page.goto(`${console.origin}/about`)
    await page.getByText('Times are in your time zone, Asia/Tokyo.').waitFor()
    const [text, moment] = await page
      .locator('main time')
      .first()
      .evaluate((time: HTMLTimeElement) => [time.textContent, time.dateTime])
    const local = new Date(Date.parse(moment as string) + 9 * 3_600_000).toISOString()
    t.equal(text, local.slice(0, 16).replace('T', ' '))
    await page.goto(`${console.origin}/new-suite`)
    t.notOk(await page.getByText('Times are in').isVisible(), 'but not if there are none')
  },
)

t.test('Times: ages stand still on a page that does not change by itself', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page } = await signIn(browser, console, { timezoneId: 'Asia/Tokyo' })
  const { clientId } = await registerApplication(page, console.origin)
  await page.clock.install()
  await page.goto(`${console.origin}/applications/${clientId}`)
  const ages = () => page.locator('time[data-age]').allTextContents()
  const before = await ages()
  t.ok(before.length > 0)
  await page.clock.runFor(120_000)
  t.strictSame(await ages(), before)
  const [text, moment] = await page
    .locator('time[data-clock]')
    .evaluate((time: HTMLTimeElement) => [time.textContent, time.dateTime])
  t.equal(text, new Date(Date.parse(moment as string) + 9 * 3_600_000).toISOString().slice(11, 19))
})
