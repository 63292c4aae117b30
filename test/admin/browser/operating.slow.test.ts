import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { makeSecret, registerApplication, signIn, startOnce } from '../../support/console.ts'

const startShared = startOnce()

/** An operator with a new application, whose page is shown. */
async function start(t: Test, options?: Parameters<typeof signIn>[2]) {
  const { browser, console } = await startShared(t)
  const { clientId } = await console.register()
  const visitor = await signIn(browser, console, options)
  const own = `${console.origin}/applications/${clientId}`
  await visitor.page.goto(own)
  return { console, own, clientId, ...visitor }
}

/** The focused element: role or tag, text, and whether its focus is visible. */
function focused(page: Page) {
  return page.evaluate(() => {
    const element = document.activeElement as HTMLElement
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    return {
      tag: element.tagName.toLowerCase(),
      text: (element.getAttribute('aria-label') ?? element.textContent ?? '').trim(),
      name: element.getAttribute('name'),
      type: element.getAttribute('type'),
      isSeen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
    }
  })
}

/** Presses Tab until this element has the focus. */
async function tabTo(page: Page, isThere: (focus: Awaited<ReturnType<typeof focused>>) => boolean): Promise<void> {
  for (let times = 0; times < 100; times++) {
    await page.keyboard.press('Tab')
    if (isThere(await focused(page))) return
  }
  throw new Error(`Tab never came there; at last it was at ${JSON.stringify(await focused(page))}`)
}

browserTest('Secrets: “Back” to a new one says that it cannot be shown again', async (t) => {
  const { page, own, complaints } = await start(t)
  for (const link of ['Done', 'Audit']) {
    const { clientSecret } = await makeSecret(page)
    await page.getByRole('link', { name: link }).click()
    await page.waitForURL(link === 'Done' ? own : '**/audit')
    await page.goBack()
    await page.getByText('The new secret was shown once. It cannot be shown again.').waitFor()
    t.equal(page.url(), own)
    t.notOk((await page.content()).includes(clientSecret))
  }
  t.strictSame(complaints, [])
})

browserTest('Rotate secret: the button beside a problem asks in the same dialog', async (t) => {
  const { page, own, complaints } = await start(t)
  await page.getByText('Revoke…').click()
  const dialog = page.getByRole('dialog')
  t.match(await focused(page), { name: 'typed_name' })
  await page.keyboard.type(String(await dialog.locator('label bdi').textContent()))
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('link', { name: 'Rotate secret…' }).click()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  t.equal(page.url(), own)
  await page.getByRole('link', { name: 'Rotate secret…' }).click()
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
  await page.getByText('Copy the secret now.').waitFor()
  t.strictSame(complaints, [])
})

browserTest('Keyboard: an application is registered without a mouse', async (t) => {
  const { console, page, complaints } = await start(t)
  await page.goto(console.origin)
  await page.keyboard.press('Tab')
  t.match(await focused(page), { text: 'Skip to the content' })
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate(() => document.activeElement?.id), 'main')
  await page.goto(console.origin)
  await tabTo(page, ({ text }) => text === 'Applications')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/applications')
  await tabTo(page, ({ text }) => text.startsWith('Register an application'))
  await page.keyboard.press('Enter')
  await page.waitForURL('**/new-application')
  await page.waitForFunction(() => document.activeElement?.id === 'field-name')
  await page.keyboard.type('Store front')
  await tabTo(page, ({ name }) => name === 'developer_email')
  await page.keyboard.type('dev@partner.example')
  await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'New credentials' }).waitFor()
  t.match(await focused(page), { text: 'Copy', isSeen: true })
  t.strictSame(complaints, [])
})

browserTest('Keyboard: Escape closes a confirmation dialog', async (t) => {
  const { console, page, clientId } = await start(t)
  const status = async () => (await console.command('applications', 'show', clientId)).status
  const isSuspend = ({ text }: { text: string }) => text.startsWith('Suspend')
  await tabTo(page, isSuspend)
  await page.keyboard.press('Enter')
  t.ok(await page.getByRole('dialog').isVisible())
  t.match(await focused(page), { text: 'Cancel' }, 'pressing Enter once more does nothing')
  for (let times = 0; times < 4; times++) {
    await page.keyboard.press('Tab')
    const isInside = await page.evaluate(
      () => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null,
    )
    t.ok(isInside, 'the focus stays inside')
  }
  await page.keyboard.press('Escape')
  t.notOk(await page.getByRole('dialog').isVisible())
  t.ok(isSuspend(await focused(page)), 'and returns to where it was')
  t.equal(await status(), 'active')

  await page.keyboard.press('Enter')
  await tabTo(page, ({ tag, text }) => tag === 'button' && text === 'Suspend')
  await page.keyboard.press('Enter')
  const done = page.getByRole('status').filter({ hasText: 'The application is suspended' })
  await done.waitFor()
  t.equal(await status(), 'suspended')
  await page.reload()
  t.notOk(await done.isVisible(), 'the result is shown once')
})

browserTest('Keyboard: every element reached with Tab has a visible focus', async (t) => {
  const { console, own, page } = await start(t)
  for (const path of ['/', '/applications', '/new-suite', '/audit', '/operators']) {
    await page.goto(path === '/applications' ? own : console.origin + path)
    const reached = []
    for (let times = 0; times < 80; times++) {
      await page.keyboard.press('Tab')
      const focus = await focused(page)
      if (focus.tag === 'body') break
      // Chromium highlights the focused part of a date field in its own way.
      if (!focus.type?.startsWith('date')) reached.push(focus)
    }
    t.ok(reached.length > 0, path)
    const unseen = reached.filter(({ isSeen }) => !isSeen)
    t.strictSame(unseen, [])
  }
})

browserTest('Forms: two clicks have effect once', async (t) => {
  const { console, page, clientId } = await start(t)
  await makeSecret(page, { clicks: 2 })
  t.equal((await console.command('secrets', 'list', clientId)).length, 2)
})

/** Presses every copy button of a page. Resolves to the copied texts, by the id of the element to copy. */
async function copyAll(page: Page): Promise<Record<string, string>> {
  const copied: Record<string, string> = {}
  for (const button of await page.locator('button[data-copy]:visible').all()) {
    await page.evaluate(() => navigator.clipboard.writeText('nothing'))
    const before = await button.textContent()
    await button.click()
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== 'nothing')
    const text = await page.evaluate(() => navigator.clipboard.readText())
    copied[(await button.getAttribute('data-copy')) as string] = text
    if (before === (await button.textContent())) throw new Error('It does not say that it has copied.')
  }
  return copied
}

browserTest('Copying: a button copies exactly the text beside it', async (t) => {
  const { console, page, context, complaints, clientId } = await start(t)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: console.origin })
  t.match(await copyAll(page), { 'client-id': clientId })
  const registered = await registerApplication(page, console.origin)
  const copied = await copyAll(page)
  t.match(copied, { 'client-id': registered.clientId, 'client-secret': registered.clientSecret })
  t.strictSame(complaints, [])
})

browserTest('Times: they are in the time zone of the reader, which is named in the footer', async (t) => {
  const { console, page } = await start(t, { timezoneId: 'Asia/Tokyo' })
  /** What a time element shows, and what it is in Tokyo. */
  const read = async (selector: string) => {
    const times = page.locator(selector).first()
    const [text, moment] = await times.evaluate((time: HTMLTimeElement) => [time.textContent, time.dateTime])
    return [text, new Date(Date.parse(moment as string) + 9 * 3_600_000).toISOString()] as const
  }
  const [clock, now] = await read('time[data-clock]')
  t.equal(clock, now.slice(11, 19))
  await page.clock.install()
  await page.reload()
  const ages = () => page.locator('time[data-age]').allTextContents()
  const before = await ages()
  t.ok(before.length > 0)
  await page.clock.runFor(120_000)
  t.strictSame(await ages(), before, 'ages stand still on a page that does not change by itself')

  await page.goto(`${console.origin}/about`)
  await page.getByText('Times are in your time zone, Asia/Tokyo.').waitFor()
  const [text, local] = await read('main time')
  t.equal(text, local.slice(0, 16).replace('T', ' '))
  await page.goto(`${console.origin}/new-suite`)
  t.notOk(await page.getByText('Times are in').isVisible(), 'but not if there are none')
})
