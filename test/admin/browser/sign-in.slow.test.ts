import type { BrowserContext, Page } from 'playwright-core'
import { browserTest } from '../../support/browser.ts'
import { signIn, startBoth, visit } from '../../support/console.ts'

const sessionCookie = ({ port }: { port: number }) => `__Host-session-${port}`
const sessionOf = async (context: BrowserContext) => (await context.cookies())[0]?.value
const isSignedIn = (page: Page, name = 'anna') => page.getByText(`Signed in as ${name}`).waitFor()

browserTest('Signing in: a link signs in once, and its code does not stay in the address bar', async (t) => {
  const { browser, console } = await startBoth(t)
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

  const second = await visit(browser)
  await second.page.goto(link)
  await second.page.getByText('This link was used already').waitFor()
  t.strictSame(await second.context.cookies(), [], 'not a second time')

  const reference = await sessionOf(context)
  await page.goto(`${console.origin}/about`)
  await page.goto(link)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  t.equal(page.url(), `${console.origin}/`, 'who is signed in comes to the overview')
  t.equal(await sessionOf(context), reference)

  const third = await visit(browser)
  await third.page.goto(`${console.origin}/login`)
  await third.page.goto(await console.link())
  await isSignedIn(third.page)
  t.equal(third.page.url(), `${console.origin}/`, 'it works in a window that already shows the login page')
})

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with' : 'without'
  browserTest(`Signing in: a link of another operator asks first, ${how} scripts`, async (t) => {
    const { browser, console } = await startBoth(t)
    for (const name of ['bert', 'carla']) await console.command('operators', 'add', name, '--role', 'viewer')
    const { page, complaints } = await signIn(browser, console, { javaScriptEnabled })
    async function follow(link: string) {
      if (javaScriptEnabled) return page.goto(link)
      await page.goto(console.origin)
      await page.goto(`${console.origin}/login`)
      await page.getByLabel('Code').fill(link)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await follow(await console.link('bert'))
    await page.getByText('Sign in as bert with this link instead?').waitFor()
    await follow(await console.link('carla'))
    await page.getByText('You are signed in as anna. Sign in as carla with this link instead?').waitFor()
    await page.getByRole('link', { name: 'Stay signed in as anna' }).click()
    await isSignedIn(page)
    await follow(await console.link('bert'))
    await page.getByRole('button', { name: 'Sign in as bert' }).click()
    await isSignedIn(page, 'bert')
    t.strictSame(complaints, [])
  })
}

browserTest('Signing in: a session reference set beforehand is not adopted (session fixation)', async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, context } = await visit(browser)
  const planted = { name: sessionCookie(console), value: 'x'.repeat(43) }
  await context.addCookies([{ ...planted, url: console.origin.replace('http:', 'https:') }])
  await page.goto(await console.link())
  await isSignedIn(page)
  const first = await sessionOf(context)
  t.not(first, planted.value)
  await page.goto(await console.link())
  await isSignedIn(page)
  t.not(await sessionOf(context), first, 'each login has its own session')
  const thief = await visit(browser)
  await thief.context.addCookies([{ ...planted, domain: '127.0.0.1', path: '/', secure: true, httpOnly: true }])
  await thief.page.goto(console.origin)
  t.equal(new URL(thief.page.url()).pathname, '/login')
})

browserTest('Signing in: signing out ends the session in every window', async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, context, complaints } = await signIn(browser, console)
  const reference = await sessionOf(context)
  const other = await context.newPage()
  await other.goto(`${console.origin}/about`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL('**/login*')
  t.strictSame(await context.cookies(), [], 'the browser has forgotten the session')
  await other.reload()
  t.equal(new URL(other.url()).pathname, '/login')
  const headers = { cookie: `${sessionCookie(console)}=${reference}` }
  const answer = await fetch(`${console.origin}/about`, { headers, redirect: 'manual' })
  t.not(answer.status, 200, 'and the server has, too')
  t.strictSame(complaints, [])
  await page.goBack()
  t.notOk(await page.getByText('Signed in as').isVisible(), 'the previous page is not shown from the cache')
})
