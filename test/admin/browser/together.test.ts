import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { confirm, makeSecret, registerApplication, signIn, startBoth, untilDone } from '../../support/console.ts'

/** Two operators in separate browser contexts, viewing the same application. */
async function startTwo(t: Parameters<typeof startBoth>[0]) {
  const { browser, console } = await startBoth(t)
  const { command, origin } = console
  await command('operators', 'add', 'bruno', '--role', 'admin')
  for (const suite of ['store', 'prices']) await command('suites', 'register', suite, '--name', `The ${suite} API`)
  const anna = await signIn(browser, console)
  const bruno = await signIn(browser, console, { name: 'bruno' })
  const { clientId } = await registerApplication(anna.page, origin)
  for (const { page } of [anna, bruno]) await page.goto(`${origin}/applications/${clientId}`)
  const shown = async () => (await command('applications', 'show', clientId)) as { suites: string[]; name: string }
  return { console, anna, bruno, clientId, shown }
}

t.test(
  'Together: changing approvals does not undo the changes of another operator',
  { skip: NO_BROWSER },
  async (t) => {
    const { anna, bruno, shown } = await startTwo(t)
    await bruno.page.getByLabel('The prices API').uncheck()
    await bruno.page.getByRole('button', { name: 'Save approvals' }).click()
    await untilDone(bruno.page)
    await anna.page.getByLabel('The store API').uncheck()
    await anna.page.getByRole('button', { name: 'Save approvals' }).click()
    await untilDone(anna.page)
    t.strictSame(
      (await shown()).suites,
      [],
      'both are withdrawn, though anna was shown the one that bruno had withdrawn',
    )
  },
)

t.test(
  'Together: a name that another operator changed is not overwritten silently',
  { skip: NO_BROWSER },
  async (t) => {
    const { anna, bruno, shown } = await startTwo(t)
    const save = async ({ page }: typeof anna, name: string) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
    }
    await save(bruno, 'Of bruno')
    await untilDone(bruno.page)
    await save(anna, 'Of anna')
    await anna.page.getByText('Someone else changed this').waitFor()
    t.match(await anna.page.locator('#main').textContent(), /now Of bruno, yours Of anna/)
    t.equal((await shown()).name, 'Of bruno', 'nothing was saved')
    await anna.page.getByRole('button', { name: 'Save', exact: true }).click()
    await untilDone(anna.page)
    t.equal((await shown()).name, 'Of anna', 'until it is saved again')
  },
)

t.test('Together: each operator sees the changes of the other, and their author', { skip: NO_BROWSER }, async (t) => {
  const { anna, bruno, clientId, console } = await startTwo(t)
  await confirm(bruno.page, 'Suspend')
  await anna.page.reload()
  await anna.page.getByRole('button', { name: 'Resume' }).click()
  await untilDone(anna.page)
  await bruno.page.goto(`${console.origin}/audit?subject=${clientId}`)
  const rows = bruno.page.getByRole('row')
  t.equal(await rows.filter({ hasText: 'bruno' }).filter({ hasText: 'suspended' }).count(), 1)
  t.equal(await rows.filter({ hasText: 'anna' }).filter({ hasText: 'resumed' }).count(), 1)
})

t.test('Together: a form that is sent twice has effect once', { skip: NO_BROWSER }, async (t) => {
  const { anna, bruno, clientId, console } = await startTwo(t)
  const secrets = async () => (await console.command('secrets', 'list', clientId)).length
  const { clientSecret: first } = await makeSecret(anna.page, { clickCount: 2 })
  t.equal(await secrets(), 2, 'two clicks make one secret')
  t.not((await makeSecret(bruno.page)).clientSecret, first, 'another operator makes another one')
  t.equal(await secrets(), 3)
})

t.test('Together: a page says if another operator has removed its subject', { skip: NO_BROWSER }, async (t) => {
  const { anna, bruno } = await startTwo(t)
  await bruno.page.getByRole('link', { name: 'Remove…' }).click()
  await bruno.page.getByRole('button', { name: /^Remove/ }).click()
  await bruno.page.waitForURL(/\/applications(\?.*)?$/)
  await confirm(anna.page, 'Suspend')
  t.match(await anna.page.locator('#main').textContent(), /no application/i)
})

t.test('Together: ending a session signs its browser out', { skip: NO_BROWSER }, async (t) => {
  const { anna, bruno, console } = await startTwo(t)
  await bruno.page.goto(console.origin)
  await anna.page.goto(`${console.origin}/operators`)
  const rows = anna.page.locator('tr', { hasText: 'bruno' })
  t.ok((await rows.count()) > 0)
  await rows.locator('summary').last().click()
  await anna.page.locator('form:visible').getByRole('button', { name: 'End' }).last().click()
  await untilDone(anna.page)
  await bruno.page.getByRole('link', { name: 'About' }).click()
  await bruno.page.waitForURL('**/login*')
  const sessions = await console.command('operators', 'sessions')
  t.notOk(JSON.stringify(sessions).includes('bruno'))
})
