import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'

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
