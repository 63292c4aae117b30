import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { signIn, startOnce } from '../../support/console.ts'
import { run } from '../../support/spawn.ts'
import { until } from '../../support/until.ts'

const startShared = startOnce(async ({ command }) => {
  for (const suite of ['store', 'reports']) await command('suites', 'register', suite, '--name', `API ${suite}`)
  await command('operators', 'add', 'bert', '--role', 'admin')
})

/** An operator, and an application that is approved for `store` only. */
async function start(t: Test, options: Parameters<typeof signIn>[2] = {}) {
  const { browser, console } = await startShared(t)
  const { clientId, clientSecret } = await console.register()
  await console.command('applications', 'withdraw', clientId, '--suite', 'reports')
  const visitor = await signIn(browser, console, options)
  const open = (path: string) => visitor.page.goto(console.origin + path)
  const approvedFor = async () => (await console.command('applications', 'show', clientId)).suites
  return { browser, console, clientId, clientSecret, own: `/applications/${clientId}`, open, approvedFor, ...visitor }
}

const named = (n: number) => ({
  name: `Many ${n}`,
  developer_email: 'dev@partner.example',
  labels: { many: 'yes' },
  suites: [],
})

/** Answers the questions of a page whether to leave it. Returns how many there were. */
function answerQuestions(page: Page, answer: 'accept' | 'dismiss') {
  const asked: string[] = []
  page.on('dialog', async (dialog) => {
    asked.push(dialog.type())
    await dialog[answer]()
  })
  return asked
}

browserTest('Lists: all or none are ticked with a button, and what is ticked is not lost by leaving', async (t) => {
  const { page, open, own, complaints } = await start(t)
  const questions = answerQuestions(page, 'accept')
  await open('/applications?for=reports')
  const boxes = page.locator('[name=client_id]')
  const ticked = page.locator('[name=client_id]:checked')
  await page.getByRole('button', { name: 'Tick all' }).click()
  t.equal(await ticked.count(), await boxes.count())
  await page.getByRole('link', { name: 'Audit', exact: true }).click()
  await page.waitForURL('**/audit')
  await page.goBack()
  t.equal(await ticked.count(), await boxes.count())
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  t.ok(await approve.isEnabled())
  await page.getByRole('button', { name: 'Untick' }).click()
  t.equal(await ticked.count(), 0)
  await page.getByText('0 selected').waitFor()
  t.notOk(await approve.isEnabled(), 'there is nothing to approve')

  await open(`${own}/edit`)
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Another name')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The changes are saved.').waitFor()
  await open('/new-application')
  await page.getByRole('button', { name: 'Tick all' }).click()
  t.equal(await page.locator('[name=suite]:checked').count(), 2)
  t.strictSame(questions, [], 'saving, and leaving what was not edited, asks nothing')
  t.strictSame(complaints, [])
})

browserTest('Lists: what is ticked stays so on other pages, sorted or searched, until it is used', async (t) => {
  const { console, page, open, complaints } = await start(t)
  const applications = Array.from({ length: 60 }, (_, n) => ({ ...named(n), client_id: `many-${n}` }))
  await run(['seed', '-'], { env: console.env, stdin: JSON.stringify({ applications }) })
  await open('/applications?label=many')
  const box = (n: number) => page.getByRole('checkbox', { name: `Tick Many ${n}`, exact: true })
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  t.notOk(await approve.isVisible(), 'there is nothing to do yet')
  await box(59).check()
  await box(58).check()
  await page.getByRole('link', { name: 'Next', exact: true }).click()
  await box(0).check()
  await page.getByRole('link', { name: 'Application', exact: true }).click()
  await page.getByText('3 selected').waitFor()
  t.ok(await box(0).isChecked())
  await box(1).check()
  await box(0).uncheck()
  await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('many 58')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await page.getByText('3 selected').waitFor()
  t.ok(await box(58).isChecked())
  await page.getByRole('combobox', { name: 'Suite', exact: true }).selectOption('reports')
  await approve.click()
  await page.getByRole('button', { name: 'Approve 3 applications' }).click()
  await page.getByText('3 applications are approved for reports').waitFor()
  t.notOk(await box(58).isChecked())
  await open('/applications?label=many&suite=reports')
  const names = page.locator('tbody th a:not(.label)')
  t.strictSame(await names.allTextContents(), ['Many 59', 'Many 58', 'Many 1'])
  t.notOk(await approve.isVisible(), 'nothing is ticked any more')
  for (const n of [59, 58, 1]) await box(n).check()
  await page.getByRole('combobox', { name: 'Suite', exact: true }).selectOption('reports')
  await page.getByRole('button', { name: 'Withdraw approval…' }).click()
  await page.getByRole('button', { name: 'Withdraw approval', exact: true }).click()
  await page.getByText('3 applications are no longer approved').waitFor()
  await open('/applications?label=many')
  t.notOk(await approve.isVisible(), 'nor after the list became empty')
  await box(59).check()
  await page.emulateMedia({ media: 'print' })
  t.equal(await page.locator('main :is(button, .button, input, select, summary):visible').count(), 0, 'on paper')
  t.strictSame(complaints, [])
})

browserTest('Lists: without scripts, what is ticked on a page is approved', async (t) => {
  const { page, open, clientId, approvedFor } = await start(t, { javaScriptEnabled: false })
  await open(`/applications?search=${clientId}`)
  await page.getByRole('checkbox').check()
  await page.getByRole('combobox', { name: 'Suite', exact: true }).selectOption('reports')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByText('1 application is approved for reports').waitFor()
  t.strictSame(await approvedFor(), ['store', 'reports'])
})

browserTest('Application: the button in its problem box approves it, and its tokens are valid', async (t) => {
  const { console, clientId, clientSecret, page, open, own, approvedFor, complaints } = await start(t)
  const { access_token } = (await console.token(clientId, clientSecret)).body
  const check = () => console.server.statusOf('/v1/oauth/verify/reports', access_token)
  await open(own)
  t.equal(await check(), 403)
  const approve = page.getByRole('button', { name: 'Approve for reports' })
  await approve.click({ timeout: 60_000 })
  await page.getByText('It is approved: its tokens are valid there from the next check on.').waitFor()
  t.notOk(await approve.isVisible())
  t.strictSame([await check(), await approvedFor()], [200, ['store', 'reports']])

  await console.command('applications', 'suspend', clientId)
  await page.locator('.parts .note').getByRole('button', { name: 'Resume' }).click({ timeout: 60_000 })
  await page.getByText('The application is active again.').waitFor()
  t.strictSame(complaints, [])
})

browserTest('Application: of two operators who edit it, the second one sees what the first one saved', async (t) => {
  const { browser, console, page, open, own, approvedFor } = await start(t)
  const other = (await signIn(browser, console, { name: 'bert' })).page
  await open(`${own}/edit`)
  await other.goto(`${console.origin}${own}/edit`)
  const edit = async (page: Page, name: string) => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
    await page.getByRole('button', { name: 'Save' }).click()
  }
  await page.getByLabel('API reports').check()
  await edit(page, 'Of anna')
  await page.getByText('The changes are saved.').waitFor()
  await edit(other, 'Of bert')
  await other.getByRole('alert').getByText('someone else has changed it to Of anna').waitFor()
  const asked = answerQuestions(other, 'dismiss')
  await other.mouse.click(1, 1)
  await other.getByRole('link', { name: 'Cancel' }).click({ noWaitAfter: true })
  await until(() => asked.length === 1)
  await other.getByRole('button', { name: 'Save' }).click()
  await other.getByRole('heading', { level: 1, name: 'Of bert' }).waitFor()
  t.strictSame(await approvedFor(), ['store', 'reports'], 'what only one of them changed stays')
})
