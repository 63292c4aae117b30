import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { type Console, signIn, startBoth } from '../../support/console.ts'

/** An operator who has the live overview open. */
async function startOverview(t: Test) {
  const { browser, console } = await startBoth(t)
  const visitor = await signIn(browser, console)
  const streams: string[] = []
  visitor.page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/live') streams.push(request.url())
  })
  await visitor.page.goto(console.origin)
  await isLive(visitor.page)
  return { console, streams, ...visitor }
}

/** Requests this many tokens. */
async function getTokens({ command, token }: Console, count: number): Promise<void> {
  const { client_id: id, client_secret: secret } = await command(
    ...['applications', 'register', '--name', 'Store front', '--developer-email', 'dev@partner.example'],
  )
  for (let n = 0; n < count; n++) await token(id, secret)
}

const state = (page: Page) => page.locator('[data-live-state]')
const isLive = (page: Page) => state(page).filter({ hasText: 'Live' }).waitFor()
const figure = (page: Page, name: string) => page.locator(`[data-live="${name}"]`).first()

t.test('Overview: the figures update when tokens are issued, without a reload', { skip: NO_BROWSER }, async (t) => {
  const { console, page, complaints } = await startOverview(t)
  t.equal(await figure(page, 'tokens-hour').textContent(), '0')
  t.ok(await page.locator('[data-live-if="no-tokens"]').isVisible(), 'an empty server says what to do next')
  await page.evaluate(() => document.body.setAttribute('data-same', ''))
  await getTokens(console, 2)
  await console.token('nobody', 'nothing')
  await figure(page, 'tokens-hour').filter({ hasText: /^2$/ }).waitFor()
  await figure(page, 'refusals-hour').filter({ hasText: /^1$/ }).waitFor()
  t.notOk(await page.locator('[data-live-if="no-tokens"]').isVisible())
  t.equal(await page.locator('body[data-same]').count(), 1, 'it is the same page')
  t.strictSame(complaints, [])
})

t.test('Overview: a paused page does not change until it is resumed', { skip: NO_BROWSER }, async (t) => {
  const { console, page } = await startOverview(t)
  const pause = page.locator('[data-live-pause]')
  await pause.click()
  await getTokens(console, 1)
  // By now another page shows it.
  const other = await page.context().newPage()
  await other.goto(console.origin)
  await figure(other, 'tokens-hour').filter({ hasText: /^1$/ }).waitFor()
  t.equal(await figure(page, 'tokens-hour').textContent(), '0')
  await page.bringToFront()
  await pause.click()
  await figure(page, 'tokens-hour').filter({ hasText: /^1$/ }).waitFor()
})

t.test('Overview: when the session ends, the stream ends and the page says so', { skip: NO_BROWSER }, async (t) => {
  const { console, page, streams, complaints } = await startOverview(t)
  const [session] = await console.command('operators', 'sessions')
  t.notOk(await page.locator('[data-live-ended]').isVisible())
  await console.command('operators', 'end-session', 'anna', String(session.id))
  await page.locator('[data-live-ended]').waitFor()
  t.notMatch(await state(page).textContent(), /live/i)
  t.equal(streams.length, 1)
  await page.bringToFront()
  await getTokens(console, 1)
  t.equal(await figure(page, 'tokens-hour').textContent(), '0', 'no further updates are shown')
  await page.locator('[data-live-ended] a').click()
  await page.waitForURL('**/login*')
  t.equal(streams.length, 1, 'and it was not tried again')
  t.strictSame(complaints, [])
})
