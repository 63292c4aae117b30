import { browserTest } from '../../support/browser.ts'
import { signIn, startBoth, visit } from '../../support/console.ts'
import { hasColours, passesAxe } from '../../support/looks.ts'

browserTest('Hand-over: a developer gets the secret that an operator has only made a link to', async (t) => {
  const { browser, console } = await startBoth(t, { HANDOVER: 'on', PUBLIC_URL: 'https://token.example' })
  const { clientId } = await console.register()
  const { page, complaints } = await signIn(browser, console)

  /** Makes a link. Resolves to it, on the address where the server really is. */
  async function makeLink(): Promise<string> {
    await page.goto(`${console.origin}/applications/${clientId}`)
    await page.getByText('Rotate secret…').click()
    await page.getByRole('button', { name: 'Make a hand-over link' }).click()
    const link = await page.locator('#link').textContent()
    return String(link).replace('https://token.example', console.address)
  }

  const links = [await makeLink(), await makeLink(), await makeLink()] as const
  await passesAxe(t, page, 'the page with the link')
  await page.getByRole('link', { name: 'Done' }).click()
  t.equal(await page.getByRole('button', { name: /^Withdraw link/ }).count(), 3)
  await passesAxe(t, page, 'the page of the application')
  await page.getByRole('button', { name: 'Withdraw link 3' }).click()
  await page.getByText('The hand-over link is withdrawn.').waitFor()

  for (const [index, scripts] of [true, false].entries()) {
    const link = links[index] as string
    const recipient = await visit(browser, { javaScriptEnabled: scripts, colorScheme: scripts ? 'light' : 'dark' })
    const { page } = recipient
    const show = page.getByRole('button', { name: 'Show the secret' })
    const secrets = async () => page.locator('dd code').allTextContents()
    await page.goto(link)
    await show.waitFor()
    t.equal(await page.getByLabel('Code').isVisible(), !scripts, 'a script fills in the code')
    if (scripts) {
      t.notOk(page.url().includes('#'), 'the code is not in the address bar')
      await passesAxe(t, page, 'the page with the button')
      await hasColours(t, page, 'light')
    } else await page.getByLabel('Code').fill(link)
    await show.click()
    await page.getByRole('heading', { name: 'Your new client secret' }).waitFor()
    const [id, secret = '', command] = await secrets()
    t.equal(id, clientId)
    t.match(command, secret)
    t.equal((await console.token(clientId, secret)).status, 200)
    if (scripts) {
      for (const width of [400, 1280, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        await passesAxe(t, page, `the secret, ${width} px`)
      }
      await page.goBack()
      t.strictSame(await secrets(), [], 'it is not in the history')
    }
    t.strictSame(recipient.complaints, [])

    await page.goto(`${console.address}/health/live`)
    await page.goto(link)
    if (!scripts) await page.getByLabel('Code').fill(link)
    await show.click()
    await page.getByText('This link was used or withdrawn').waitFor()
    if (scripts) await passesAxe(t, page, 'the refusal')
    await page.getByRole('link', { name: 'Enter a code' }).click()
    await show.waitFor()
  }
  await page.reload()
  t.equal(await page.getByRole('button', { name: /^Withdraw link/ }).count(), 0)
  t.strictSame(complaints, [])
})
