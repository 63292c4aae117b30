import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { type Console, signIn, startBoth, startOnce } from '../../support/console.ts'
import { until } from '../../support/until.ts'

/** The page notices after five seconds that figures are missing. */
const PATIENCE = { timeout: 60_000 }

const startShared = startOnce()

/** An operator who has the live overview open. */
async function startOverview(t: Test, start = startShared) {
  const { browser, console } = await start(t)
  const visitor = await signIn(browser, console)
  const { page } = visitor
  const requests: string[] = []
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/live') requests.push(request.url())
  })
  await page.goto(console.origin)
  await isLive(page)
  return { console, requests, tokens: await tokensOf(page), ...visitor }
}

/** Requests this many tokens. */
async function getTokens({ register, token }: Console, count: number): Promise<void> {
  const { clientId, clientSecret } = await register()
  for (let n = 0; n < count; n++) await token(clientId, clientSecret)
}

const state = (page: Page) => page.locator('[data-live-state]')
const isLive = (page: Page) =>
  state(page)
    .filter({ hasText: /^Live$/ })
    .waitFor(PATIENCE)
const card = (page: Page, label: string) => page.locator('.card').filter({ hasText: label })
/** The tokens of the last hour that the page shows. */
const tokensOf = async (page: Page) =>
  Number.parseInt(await card(page, 'Tokens, last minute').locator('.card-hint').innerText(), 10)
/** Resolves when the page shows this many tokens of the last hour. */
const showsTokens = (page: Page, count: number) =>
  card(page, 'Tokens, last minute')
    .getByText(new RegExp(`^${count} in the last hour$`))
    .waitFor(PATIENCE)

browserTest('Overview: the figures update without a reload; where they are missing it says since when', async (t) => {
  const { console, page, complaints, tokens } = await startOverview(t, startBoth)
  t.equal(tokens, 0)
  const noTokens = page.locator('[data-live="no-tokens"]')
  t.ok(await noTokens.isVisible(), 'an empty server says what to do next')
  const fail = async () => console.token((await console.register()).clientId, 'wrong')
  const failing = page.locator('.matters strong a[href^="/applications/"]')
  await fail()
  await failing.waitFor(PATIENCE)
  const link = page.locator(`.matters strong a[href="${await failing.getAttribute('href')}"]`)
  await page.locator('details > summary', { hasText: 'Every minute' }).click()
  await link.focus()
  await page.evaluate(() => scrollTo(0, 700))
  const place = () => page.locator('#tokens-heading').evaluate((heading) => heading.getBoundingClientRect().top)
  const before = await place()
  await getTokens(console, 2)
  await console.token('nobody', 'nothing')
  await showsTokens(page, 2)
  await card(page, 'Refused requests').getByText('2', { exact: true }).waitFor(PATIENCE)
  await page.locator('.bars').getByText('unknown client 1').waitFor(PATIENCE)
  t.notOk(await noTokens.isVisible())
  t.ok(await link.evaluate((element) => element === document.activeElement), 'the focus stays')
  t.ok(await page.getByRole('table', { name: 'by minute' }).isVisible(), 'what was opened stays open')
  t.equal(await place(), before, 'the page does not jump')
  await fail()
  await failing.nth(1).waitFor(PATIENCE)
  t.ok(await link.evaluate((element) => element === document.activeElement), 'also where it becomes one of two')
  await fail()
  await page.getByText('3 applications are refused').waitFor(PATIENCE)
  t.ok(await link.isVisible(), 'those that are unfolded stay so')
  const [clock, now] = await page
    .locator('.lead time')
    .evaluate((time: HTMLTimeElement) => [time.textContent, new Date(time.dateTime).toTimeString().slice(0, 8)])
  t.equal(clock, now, 'times stay local')
  t.strictSame(complaints, [])

  const { child } = console.server
  const isDimmed = () => page.locator('body.stale').isVisible()
  t.notOk(await isDimmed())
  // A stopped server keeps the connection but sends nothing, like a buffering proxy.
  child.kill('SIGSTOP')
  await page.getByText(/^No new figures since \d\d:\d\d:\d\d$/).waitFor(PATIENCE)
  t.ok(await isDimmed())
  child.kill('SIGCONT')
  await isLive(page)
  t.notOk(await isDimmed(), 'it reconnects by itself')
  child.kill('SIGKILL')
  await page.getByText(/^Not connected since \d\d:\d\d:\d\d$/).waitFor(PATIENCE)
  t.ok(await isDimmed())
  await page.getByRole('button', { name: 'Pause' }).click()
  t.notOk(await isDimmed())
  // As if the server were back, and its store were not.
  await page.route(/\/live\?/, (route) => route.fulfill({ status: 503 }))
  await page.getByRole('button', { name: 'Resume' }).click()
  // Before it asks again, half a minute later.
  await page.getByText(/^No new figures since \d\d:\d\d:\d\d$/).waitFor({ timeout: 25_000 })
  t.ok(await isDimmed())
})

browserTest('Overview: what needs attention does not move from under the pointer', async (t) => {
  const { console, page, complaints } = await startOverview(t, startBoth)
  const fail = async () => {
    const { clientId } = await console.register()
    await console.token(clientId, 'wrong')
    return page.locator(`.matters strong a[href^="/applications/${clientId}"]`)
  }
  const row = await fail()
  await row.waitFor(PATIENCE)
  const part = page.locator('[data-live=attention]')
  await row.hover()
  const before = await part.innerHTML()
  const answered = () => page.waitForResponse((response) => response.url().includes('/live?'), PATIENCE)
  const other = await fail()
  await until(async () => (await (await answered()).text()).includes('2 applications are refused'))
  // The page asks again after it has shown an answer.
  await answered()
  t.equal(await part.innerHTML(), before)
  await page.mouse.move(0, 0)
  await other.waitFor({ ...PATIENCE, state: 'attached' })
  t.strictSame(complaints, [])
})

browserTest('Overview: a paused page does not change until it is resumed', async (t) => {
  const { console, page, context, tokens } = await startOverview(t)
  const pause = page.locator('[data-live-pause]')
  await pause.click()
  await getTokens(console, 1)
  const other = await context.newPage()
  await other.goto(console.origin)
  await showsTokens(other, tokens + 1)
  t.equal(await tokensOf(page), tokens)
  await page.bringToFront()
  await pause.click()
  await showsTokens(page, tokens + 1)
})

browserTest('Overview: when the session ends, the figures stop and the page says so', async (t) => {
  const { console, page, requests, complaints, tokens } = await startOverview(t)
  const ended = page.locator('[data-live-ended]')
  t.notOk(await ended.isVisible())
  for (const { id } of await console.command('operators', 'sessions')) {
    await console.command('operators', 'end-session', 'anna', String(id))
  }
  await ended.waitFor(PATIENCE)
  t.notMatch(await state(page).textContent(), /live/i)
  await page.bringToFront()
  await getTokens(console, 1)
  t.equal(await tokensOf(page), tokens, 'no further updates are shown')
  const { length } = requests
  await ended.locator('a').click()
  await page.waitForURL('**/login*')
  t.equal(requests.length, length, 'and it was not tried again')
  t.equal(complaints.length, 1)
  t.match(complaints[0], 'status of 401')
})

browserTest('Overview: a fifth window of one operator pauses the first', async (t) => {
  const { console, page, context } = await startOverview(t)
  for (let n = 0; n < 4; n++) await (await context.newPage()).goto(console.origin)
  await page.getByText('Paused: open in other windows').waitFor(PATIENCE)
  await page.getByRole('button', { name: 'Resume' }).click()
  await isLive(page)
})

browserTest('Overview: after Acknowledge it has the same time range, and says that it is done', async (t) => {
  const { console, page, complaints } = await startOverview(t, startBoth)
  await console.token((await console.register()).clientId, 'wrong')
  await page.getByRole('link', { name: '7 days' }).click()
  // Else the button of the page before could be pressed.
  await page.waitForURL(/[?]period=7d/)
  await page.getByRole('button', { name: 'Acknowledge' }).click(PATIENCE)
  await page.waitForURL(/[/][?]period=7d&done=acknowledged/)
  const message = page.getByRole('status').filter({ hasText: 'It is acknowledged' })
  const isSeen = await message.evaluate((element) => {
    const { top, left } = element.getBoundingClientRect()
    return element.contains(document.elementFromPoint(left + 20, top + 20))
  })
  t.ok(isSeen, 'though the link to the range leads to the charts')
  t.strictSame(complaints, [])
})

browserTest('Application: its page shows a refusal without a reload, and what was opened stays open', async (t) => {
  const { console, page, complaints } = await startOverview(t)
  const { clientId } = await console.register()
  await page.goto(`${console.origin}/applications/${clientId}`)
  await isLive(page)
  await page.getByText('No problem is known.').waitFor(PATIENCE)
  await page.getByText('Does the partner still see errors?').click()
  const clock = await page.locator('[data-live=as-of] time').textContent()
  await page.waitForFunction(
    (before) => document.querySelector('[data-live=as-of] time')?.textContent !== before,
    clock,
  )
  const details = page.locator('#health ~ * details, .note details').first()
  t.ok(await details.evaluate((element) => 'open' in element && element.open))
  await console.token(clientId, 'wrong')
  await page.getByText('There is a problem.').waitFor(PATIENCE)
  await page.getByText('The secret does not match').waitFor(PATIENCE)
  t.strictSame(complaints, [])
})

browserTest('Charts: the pointer and the arrow keys show the figures of a moment', async (t) => {
  const { page, complaints } = await startOverview(t)
  const plot = page.locator('.plot').first()
  const tip = page.locator('.tip[role=status]')
  const others = page.locator('.tip:not([role])')
  const covered = () =>
    page.evaluate(() => {
      const boxOf = (element: Element | null) => element?.getBoundingClientRect() ?? new DOMRect()
      const tip = boxOf(document.querySelector('.tip[role=status]'))
      return ['h2', 'svg', '.legend'].filter((part) => {
        const { top, bottom } = boxOf(document.querySelector(`.panel:has(.legend) :is(${part})`))
        return tip.height > 0 && tip.top < bottom - 1 && tip.bottom > top + 1
      })
    })
  await page.locator('.panel:has(.legend) .plot').first().focus()
  t.strictSame(await covered(), [], 'they cover nothing but the times')
  await plot.focus()
  t.match(await tip.textContent(), /^Now: Tokens \d/)
  await page.keyboard.press('ArrowRight')
  t.match(await tip.textContent(), /^Now: /, 'there is nothing behind the last one')
  await page.keyboard.press('ArrowLeft')
  t.match(await tip.textContent(), /^\d\d:\d\d, \d+ (s|min) ago: Tokens /)
  const moment = (await tip.textContent())?.split(' ago')[0]
  t.equal(await others.count(), 4)
  for (const text of await others.allTextContents()) t.equal(text.split(' ago')[0], moment, 'on all charts')
  await page.keyboard.press('Escape')
  t.strictSame(new Set(await page.locator('.tip').allTextContents()), new Set(['']))
  await plot.locator('svg').scrollIntoViewIfNeeded()
  const { x, y, width } = (await plot.locator('svg').boundingBox()) as { x: number; y: number; width: number }
  await page.mouse.move(x + width / 2, y + 20)
  t.match(await tip.textContent(), /ago: Tokens /)
  await page.mouse.down()
  await page.mouse.move(x + width / 2 + 50, y + 20)
  t.ok((await plot.locator('.picked').count()) > 1)
  await page.keyboard.press('Escape')
  await page.mouse.up()
  t.equal(await plot.locator('.picked').count(), 0)
  await page.mouse.click(x + width / 2, y + 20)
  await page.mouse.move(x + width - 1, y + 20)
  await page.mouse.down()
  await page.mouse.move(x - 20, y + 20)
  await page.mouse.up()
  await page.waitForURL(/[/][?]since=[^&]+&until=[^&]+#traffic$/)
  const { searchParams } = new URL(page.url())
  const [since, until] = ['since', 'until'].map((name) => Date.parse(`${searchParams.get(name)}Z`))
  const minutes = (Number(until) - Number(since)) / 60_000
  t.ok(minutes >= 3 && minutes <= 5, `${minutes} minutes: all that the chart shows soon after the start`)
  await page.goBack()
  await page.getByRole('link', { name: '7 days' }).click()
  await page.locator('.plot').first().focus()
  t.match(await tip.textContent(), /^From \d{4}-\d\d-\d\d \d\d:\d\d, so far: Tokens issued \d+$/)
  t.strictSame(complaints, [])
})
