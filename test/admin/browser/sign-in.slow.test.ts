import type { Page } from 'playwright-core'
import { browserTest } from '../../support/browser.ts'
import { signIn, startOnce, visit } from '../../support/console.ts'

const start = startOnce()
const isSignedIn = (page: Page, name = 'anna') => page.getByText(`Signed in as ${name}`).waitFor()

browserTest('Signing in: a link signs in once, and its code does not stay in the address bar', async (t) => {
  const { browser, console } = await start(t)
  const { page, context, complaints } = await visit(browser)
  const link = await console.link()
  await page.goto(link)
  await isSignedIn(page)
  t.equal(page.url(), `${console.origin}/`)
  const [cookie] = await context.cookies()
  t.match(cookie, { httpOnly: true, secure: true, sameSite: 'Strict', path: '/', expires: -1 })
  t.strictSame(complaints, [])
  await page.goBack()
  t.notOk(page.url().includes(link.split('#')[1] as string), 'nor in the history')

  await page.goto(`${console.origin}/about`)
  await page.goto(link)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  t.equal(page.url(), `${console.origin}/`, 'who is signed in comes to the overview')
  t.match(await context.cookies(), [{ value: cookie?.value }])

  const other = await visit(browser)
  await other.page.goto(`${console.origin}/login`)
  await other.page.goto(await console.link())
  await isSignedIn(other.page)
  t.equal(other.page.url(), `${console.origin}/`, 'it works in a window that already shows the login page')
})

browserTest('Signing in: a link of another operator asks first, also on the page that asks', async (t) => {
  const { browser, console } = await start(t)
  for (const name of ['bert', 'carla']) await console.command('operators', 'add', name, '--role', 'viewer')
  const { page, complaints } = await signIn(browser, console)
  await page.goto(await console.link('bert'))
  await page.getByText('Sign in as bert with this link instead?').waitFor()
  await page.goto(await console.link('carla'))
  await page.getByText('You are signed in as anna. Sign in as carla with this link instead?').waitFor()
  await page.getByRole('link', { name: 'Stay signed in as anna' }).click()
  await isSignedIn(page)
  await page.goto(await console.link('bert'))
  await page.getByRole('button', { name: 'Sign in as bert' }).click()
  await isSignedIn(page, 'bert')
  t.strictSame(complaints, [])
})

browserTest('Signing in: who signs out is signed out in every window, and the page before is not kept', async (t) => {
  const { browser, console } = await start(t)
  const { page, context, complaints } = await signIn(browser, console)
  const other = await context.newPage()
  await other.goto(`${console.origin}/about`)
  await page.getByText('Signed in as').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL('**/login*')
  t.strictSame(await context.cookies(), [], 'the browser has forgotten the session')
  await other.reload()
  t.equal(new URL(other.url()).pathname, '/login')
  t.strictSame(complaints, [])
  await page.goBack()
  t.notOk(await page.getByText('Signed in as').isVisible(), 'not even in the cache')
})
