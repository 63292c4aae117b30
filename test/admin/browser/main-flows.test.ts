import { browserTest } from '../../support/browser.ts'
import { confirm, makeSecret, registerApplication, signIn, startBoth, untilDone } from '../../support/console.ts'

browserTest('Console: from signing in to signing out, with what an application needs between', async (t) => {
  const { browser, console } = await startBoth(t)
  const { origin, token } = console
  const { page, complaints } = await signIn(browser, console)

  const { clientId, clientSecret } = await registerApplication(page, origin)
  t.equal((await token(clientId, clientSecret)).status, 200, 'a registered application gets a token')

  const own = `${origin}/applications/${clientId}`
  await page.goto(own)
  const rotated = await makeSecret(page, { overlap: '0' })
  t.equal((await token(clientId, rotated.clientSecret)).status, 200, 'with its new secret')
  t.equal((await token(clientId, clientSecret)).status, 401, 'and not with the old one')

  await page.goto(own)
  await confirm(page, 'Suspend')
  t.equal((await token(clientId, rotated.clientSecret)).status, 401, 'a suspended one gets none')
  await page.getByRole('button', { name: 'Resume' }).click()
  await untilDone(page)
  t.equal((await token(clientId, rotated.clientSecret)).status, 200, 'until it is resumed')

  await page.getByRole('link', { name: 'Audit', exact: true }).click()
  const actions = page.getByRole('row').filter({ hasText: 'anna' })
  for (const action of ['Application registered', 'Secret rotated', 'Application suspended', 'Application resumed']) {
    t.equal(await actions.filter({ hasText: action }).count(), 1, action)
  }

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out.').waitFor()
  await page.goto(own)
  t.equal(new URL(page.url()).pathname, '/login')
  t.strictSame(complaints, [])
})
