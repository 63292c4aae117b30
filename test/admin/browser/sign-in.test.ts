import Database from 'better-sqlite3'
import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth, startConsole, visit } from '../../support/console.ts'

const MINUTE = 60_000

t.test(
  'Signing in: a link signs in once, and its code does not stay in the address bar',
  { skip: NO_BROWSER },
  async (t) => {
    const { browser, console } = await startBoth(t)
    const { page, context, complaints } = await visit(browser)
    const link = await console.link()
    await page.goto(link)
    await page.getByText('Signed in as anna').waitFor()
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
  },
)

t.test('Signing in: a link works in a window that already shows the login page', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page } = await visit(browser)
  await page.goto(`${console.origin}/login`)
  await page.goto(await console.link())
  await page.getByText('Signed in as anna').waitFor()
  t.equal(page.url(), `${console.origin}/`)
})

t.test('Signing in: a used link opens the overview if the operator is signed in', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, context } = await visit(browser)
  const link = await console.link()
  await page.goto(link)
  await page.getByText('Signed in as anna').waitFor()
  const reference = await sessionOf(context)
  await page.goto(`${console.origin}/about`)
  await page.goto(link)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  t.equal(page.url(), `${console.origin}/`)
  t.equal(await sessionOf(context), reference)
})

for (const javaScriptEnabled of [true, false]) {
  const rule = `a link of another operator asks first, ${javaScriptEnabled ? 'with' : 'without'} scripts`
  t.test(`Signing in: ${rule}`, { skip: NO_BROWSER }, async (t) => {
    const { browser, console } = await startBoth(t)
    for (const name of ['bert', 'carla']) await console.command('operators', 'add', name, '--role', 'viewer')
    const { page } = await signIn(browser, console, { javaScriptEnabled })
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
    await page.getByText('Signed in as anna').waitFor()
    await follow(await console.link('bert'))
    await page.getByRole('button', { name: 'Sign in as bert' }).click()
    await page.getByText('Signed in as bert').waitFor()
  })
}

t.test('Signing in: without JavaScript the code can be entered in the form', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, complaints } = await signIn(browser, console, { javaScriptEnabled: false })
  t.equal(page.url(), `${console.origin}/`)
  t.strictSame(complaints, [])
})

t.test(
  'Signing in: a session reference set beforehand is not adopted (session fixation)',
  { skip: NO_BROWSER },
  async (t) => {
    const { browser, console } = await startBoth(t)
    const { page, context } = await visit(browser)
    const planted = 'x'.repeat(43)
    await context.addCookies([
      { name: sessionCookie(console), value: planted, url: console.origin.replace('http:', 'https:') },
    ])
    await page.goto(await console.link())
    await page.getByText('Signed in as anna').waitFor()
    const first = await sessionOf(context)
    t.not(first, planted)
    await page.goto(await console.link())
    await page.getByText('Signed in as anna').waitFor()
    const second = await sessionOf(context)
    t.not(second, first, 'each login has its own session')
    const thief = await visit(browser)
    await thief.context.addCookies([
      { name: sessionCookie(console), value: planted, domain: '127.0.0.1', path: '/', secure: true, httpOnly: true },
    ])
    await thief.page.goto(console.origin)
    t.equal(new URL(thief.page.url()).pathname, '/login')
  },
)

t.test('Signing in: two servers at 127.0.0.1 do not sign each other out', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const other = await startConsole(t)
  const { page } = await signIn(browser, console)
  await page.goto(await other.link())
  await page.getByText('Signed in as anna').waitFor()
  for (const { origin } of [console, other, console]) {
    await page.goto(`${origin}/about`)
    await page.getByText('Signed in as anna').waitFor()
  }
})

t.test('Signing in: signing out ends the session in every window', { skip: NO_BROWSER }, async (t) => {
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
  const answer = await fetch(`${console.origin}/about`, {
    headers: { cookie: `${sessionCookie(console)}=${reference}` },
    redirect: 'manual',
  })
  t.not(answer.status, 200, 'and the server has, too')
  t.strictSame(complaints, [])
  await page.goBack()
  t.notOk(await page.getByText('Signed in as').isVisible(), 'the previous page is not shown from the cache')
})

for (const [rule, columns] of [
  ['15 minutes in which nothing was asked for', { last_seen_at: 15 * MINUTE, ends_at: 15 * MINUTE }],
  ['eight hours, whatever was asked for', { created_at: 8 * 60 * MINUTE, ends_at: 15 * MINUTE }],
] as const) {
  t.test(`Signing in: a session ends after ${rule}`, { skip: NO_BROWSER }, async (t) => {
    const { browser, console } = await startBoth(t)
    const { page } = await signIn(browser, console)
    moveBack(console.file, columns)
    await page.getByRole('link', { name: 'About' }).click()
    await page.waitForURL('**/login*')
    t.pass('and leads to the login')
  })
}

const sessionCookie = ({ port }: { port: number }) => `__Host-session-${port}`

/** Makes a session older. */
function moveBack(file: string, columns: Record<string, number>): void {
  const db = new Database(file)
  for (const [column, by] of Object.entries(columns)) {
    db.prepare(`UPDATE sessions SET ${column} = ${column} - ?`).run(by)
  }
  db.close()
}

async function sessionOf(context: { cookies(): Promise<{ value: string }[]> }): Promise<string | undefined> {
  return (await context.cookies())[0]?.value
}
