import { browserTest } from '../../support/browser.ts'
import { signIn, startOnce } from '../../support/console.ts'

const start = startOnce()

/** A refusal is stored within five seconds. */
const PATIENCE = { timeout: 60_000 }

browserTest('Search: “/” focuses it; a request id leads to its refusal, and that to the application', async (t) => {
  const { browser, console } = await start(t)
  const { page, complaints } = await signIn(browser, console)
  const { clientId } = await console.register()
  const id = 'partner-request-1'
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: 'wrong' })
  await fetch(`${console.address}/v1/oauth/accesstoken`, { method: 'POST', headers: { 'x-request-id': id }, body })
  await page.goto(`${console.origin}/refusals`)
  await page.locator(`a[id="row-${id}"]`).waitFor(PATIENCE)
  await page.getByLabel('Client', { exact: true }).focus()
  await page.keyboard.type('/')
  t.equal(await page.getByLabel('Client', { exact: true }).inputValue(), '/', 'in a field it is a character')
  await page.getByRole('heading', { level: 1 }).click()
  await page.keyboard.type(`/${id}`)
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/refusals?open=${id}`)
  await page.getByText('There is a problem.').waitFor()
  await page.getByRole('link', { name: 'Go to the application' }).click()
  await page.waitForURL(`**/applications/${clientId}`)
  t.strictSame(complaints, [])
})

browserTest('Header: on a phone it is one row, with the search and a menu, without scripts, too', async (t) => {
  const { browser, console } = await start(t)
  const { page } = await signIn(browser, console, { javaScriptEnabled: false })
  await page.setViewportSize({ width: 400, height: 800 })
  const heights = [page.locator('.bar'), page.locator('.find')].map(async (part) => (await part.boundingBox())?.height)
  const [bar, find] = await Promise.all(heights)
  t.ok(Number(bar) < 2 * Number(find))
  const link = page.getByRole('link', { name: 'Refusals' })
  t.notOk(await link.isVisible())
  await page.getByRole('button', { name: 'Menu' }).focus()
  await page.keyboard.press('Enter')
  await link.click()
  await page.waitForURL('**/refusals')
  await page.getByRole('searchbox', { name: 'Search everything' }).fill('anna')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/operators#operator-anna')
})
