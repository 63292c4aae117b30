import { browserTest } from '../../support/browser.ts'
import { startBoth, visit } from '../../support/console.ts'
import { freePort } from '../../support/free-port.ts'
import { passesAxe } from '../../support/looks.ts'
import { CLIENT, startProvider } from '../../support/provider.ts'

browserTest('Signing in with the provider: there and back, over another site, without scripts too', async (t) => {
  const origin = `http://127.0.0.1:${await freePort()}`
  // Another site than 127.0.0.1 to the browser.
  const provider = await startProvider(t, { callbackUrl: `${origin}/login/callback`, host: 'localhost' })
  const { browser, console } = await startBoth(t, {
    ADMIN_ADDRESS: origin.replace('http://', ''),
    ADMIN_URL: origin,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET_FILE: provider.settings.secretFile,
    OIDC_ADMINS: 'groups=platform',
    OIDC_VIEWERS: 'groups=support',
  })
  for (const javaScriptEnabled of [true, false]) {
    const { page, context, complaints } = await visit(browser, { javaScriptEnabled })
    const signIn = async (as: string) => {
      await page.getByRole('link', { name: 'Sign in with localhost' }).click()
      await page.waitForURL('**/interaction/*')
      await page.getByRole('link', { name: as }).click()
    }
    await page.goto(origin)
    if (javaScriptEnabled) await passesAxe(t, page, 'the login page')
    t.notOk(await page.getByLabel('Code').isVisible(), 'the link of the command line is folded away')
    await signIn('anna')
    await page.getByText(/^Signed in as anna@company\.example \(\S+\), admin$/).waitFor()
    t.equal(page.url(), `${origin}/`)
    const session = (await context.cookies()).find(({ name }) => name.includes('session-'))
    t.match(session, { sameSite: 'Strict', httpOnly: true })

    const shop = await console.command('applications', 'register', '--name', 'Shop', '--developer-email', 'a@b.example')
    await page.goto(`${origin}/applications/${shop.client_id}/remove`)
    if (javaScriptEnabled) await passesAxe(t, page, 'sign in again first')
    await page.getByRole('link', { name: 'Sign in again with localhost' }).click()
    await page.getByLabel('Type Shop to confirm').fill('Shop')
    await page.getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('Shop is removed, with 1 secret').waitFor()

    await page.goto(`${origin}/login`)
    await page.locator('main details').waitFor()
    // The provider still knows the browser.
    await page.getByRole('link', { name: 'Sign in with localhost' }).click()
    await page.getByText(/^Signed in as anna@company\.example \(\S+\), admin$/).waitFor()
    const [anna] = (await console.command('operators', 'list')).filter(({ email }: { email: string }) => email)
    t.equal(anna.sessions.length, 1, 'the session before has been replaced')
    await page.goBack()
    await page.goto(origin)
    await page.getByText('Signed in as').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    await context.clearCookies({ domain: 'localhost' })
    await signIn('nora')
    await page.getByText('but this account has no role here').waitFor()
    if (javaScriptEnabled) await passesAxe(t, page, 'no role')
    for (const complaint of complaints) t.match(complaint, /status of 40[34]/)
  }
})

browserTest('Signing in with the provider: a link of the command line is a way in where it is away', async (t) => {
  const origin = `http://127.0.0.1:${await freePort()}`
  const provider = await startProvider(t, { callbackUrl: `${origin}/login/callback` })
  await provider.close()
  const { browser, console } = await startBoth(t, {
    ...{ ADMIN_ADDRESS: origin.replace('http://', ''), ADMIN_URL: origin, OIDC_ISSUER: provider.issuer },
    ...{ OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET_FILE: provider.settings.secretFile, OIDC_ADMINS: 'groups=a' },
  })
  const { page } = await visit(browser)
  await page.goto(`${origin}/login`)
  await page.getByRole('link', { name: 'Sign in with 127.0.0.1' }).click()
  await page.getByText('does not answer as expected').waitFor()
  t.ok(await page.getByLabel('Code').isVisible(), 'the form for a link is open')
  await page.goto(await console.link())
  await page.getByText('Signed in as anna, admin').waitFor()
})
