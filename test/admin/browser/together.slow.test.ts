import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { confirm, makeSecret, registerApplication, signIn, startBoth, untilDone } from '../../support/console.ts'

/** Two operators in separate browser contexts, viewing the same application. */
async function startTwo(t: Test) {
  const { browser, console } = await startBoth(t)
  const { command, origin } = console
  await command('operators', 'add', 'bruno', '--role', 'admin')
  for (const suite of ['store', 'prices']) await command('suites', 'register', suite, '--name', `The ${suite} API`)
  const anna = await signIn(browser, console)
  const bruno = await signIn(browser, console, { name: 'bruno' })
  const { clientId } = await registerApplication(anna.page, origin)
  const own = `${origin}/applications/${clientId}`
  for (const { page } of [anna, bruno]) await page.goto(own)
  const shown = async () => (await command('applications', 'show', clientId)) as { suites: string[]; name: string }
  return { console, anna: anna.page, bruno: bruno.page, clientId, own, shown }
}

browserTest('Together: the changes of another operator are neither undone nor overwritten silently', async (t) => {
  const { anna, bruno, shown } = await startTwo(t)
  for (const [page, suite] of [
    [bruno, 'The prices API'],
    [anna, 'The store API'],
  ] as const) {
    await page.getByLabel(suite).uncheck()
    await page.getByRole('button', { name: 'Save approvals' }).click()
    await untilDone(page)
  }
  t.strictSame((await shown()).suites, [], 'both are withdrawn, though anna was shown the one that bruno had withdrawn')

  const save = async (page: typeof anna, name: string) => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
  }
  await save(bruno, 'Of bruno')
  await bruno.getByRole('heading', { level: 1, name: 'Of bruno' }).waitFor()
  await save(anna, 'Of anna')
  await anna.getByText('Someone else changed this').waitFor()
  t.match(await anna.locator('#main').textContent(), /now Of bruno, yours Of anna/)
  t.equal((await shown()).name, 'Of bruno', 'nothing was saved')
  await anna.getByRole('button', { name: 'Save', exact: true }).click()
  await untilDone(anna)
  t.equal((await shown()).name, 'Of anna', 'until it is saved again')
})

browserTest('Together: a form that is sent twice has effect once, and one for what is removed has none', async (t) => {
  const { anna, bruno, clientId, own, console } = await startTwo(t)
  const secrets = async () => (await console.command('secrets', 'list', clientId)).length
  const { clientSecret: first } = await makeSecret(anna, { clickCount: 2 })
  t.equal(await secrets(), 2, 'two clicks make one secret')
  t.not((await makeSecret(bruno)).clientSecret, first, 'another operator makes another one')

  for (const page of [anna, bruno]) await page.goto(own)
  await bruno.getByRole('link', { name: 'Remove…' }).click()
  await bruno.getByRole('button', { name: /^Remove/ }).click()
  await bruno.waitForURL(/\/applications(\?.*)?$/)
  await confirm(anna, 'Suspend')
  t.match(await anna.locator('#main').textContent(), /no application/i, 'which is said of one that is removed')
})
