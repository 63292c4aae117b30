import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'

const PATIENCE = { timeout: 60_000 }

t.test(
  'Overview: it shows since when updates are missing, and reconnects by itself',
  { skip: NO_BROWSER },
  async (t) => {
    const { browser, console } = await startBoth(t)
    const { page } = await signIn(browser, console)
    const live = page.getByText('Live', { exact: true })
    const isDimmed = () => page.locator('body.stale').isVisible()
    await live.waitFor(PATIENCE)
    t.notOk(await isDimmed())
    // A stopped server keeps the connection but sends nothing, like a buffering proxy.
    console.server.child.kill('SIGSTOP')
    await page.getByText(/^No new figures since \d\d:\d\d:\d\d$/).waitFor(PATIENCE)
    t.ok(await isDimmed())
    console.server.child.kill('SIGCONT')
    await live.waitFor(PATIENCE)
    t.notOk(await isDimmed())
    console.server.child.kill('SIGKILL')
    await page.getByText(/^Not connected since \d\d:\d\d:\d\d$/).waitFor(PATIENCE)
    t.ok(await isDimmed())
    await page.getByRole('button', { name: 'Pause' }).click()
    t.notOk(await isDimmed())
  },
)

t.test('Overview: a fifth window of one operator pauses the first', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, context } = await signIn(browser, console)
  await page.getByText('Live', { exact: true }).waitFor(PATIENCE)
  for (let n = 0; n < 4; n++) await (await context.newPage()).goto(console.origin)
  await page.getByText('Paused: open in other windows').waitFor(PATIENCE)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Live', { exact: true }).waitFor(PATIENCE)
})
