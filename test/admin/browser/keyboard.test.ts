import type { Page } from 'playwright-core'
import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { registerApplication, signIn, startBoth, untilDone } from '../../support/console.ts'

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
async function tabTo(page: Page, isThere: (focus: Awaited<ReturnType<typeof focused>>) => boolean) {
  for (let times = 0; times < 100; times++) {
    await page.keyboard.press('Tab')
    const focus = await focused(page)
    if (isThere(focus)) return focus
  }
  throw new Error(`Tab never came there; at last it was at ${JSON.stringify(await focused(page))}`)
}

t.test('Keyboard: an application is registered without a mouse', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page, complaints } = await signIn(browser, console)
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
  t.strictSame(complaints, [])
})

t.test('Keyboard: Escape closes a confirmation dialog', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page } = await signIn(browser, console)
  const { clientId } = await registerApplication(page, console.origin)
  await page.goto(`${console.origin}/applications/${clientId}`)
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
  t.match((await console.command('applications', 'show', clientId)).status, 'active')

  await page.keyboard.press('Enter')
  await tabTo(page, ({ tag, text }) => tag === 'button' && text === 'Suspend')
  await page.keyboard.press('Enter')
  await untilDone(page)
  t.match((await console.command('applications', 'show', clientId)).status, 'suspended')
  const done = page.getByRole('status').filter({ hasText: 'is suspended' })
  t.ok(await done.isVisible())
  await page.reload()
  t.notOk(await done.isVisible(), 'the result is shown once')
})

t.test(
  'Keyboard: the last secret is revoked without a mouse, after confirming twice',
  { skip: NO_BROWSER },
  async (t) => {
    const { browser, console } = await startBoth(t)
    const { page } = await signIn(browser, console)
    const { clientId, clientSecret } = await registerApplication(page, console.origin)
    await page.goto(`${console.origin}/applications/${clientId}`)
    await tabTo(page, ({ tag, text }) => tag === 'summary' && text.startsWith('Revoke…'))
    await page.keyboard.press('Space')
    await tabTo(page, ({ text }) => text === 'Revoke')
    await page.keyboard.press('Enter')
    t.equal((await console.token(clientId, clientSecret)).status, 200, 'it is not revoked yet')
    await tabTo(page, ({ name }) => name === 'force')
    await page.keyboard.press('Space')
    await tabTo(page, ({ text }) => text === 'Revoke')
    await page.keyboard.press('Enter')
    await untilDone(page)
    t.equal((await console.token(clientId, clientSecret)).status, 401)
  },
)

t.test('Keyboard: every element reached with Tab has a visible focus', { skip: NO_BROWSER }, async (t) => {
  const { browser, console } = await startBoth(t)
  const { page } = await signIn(browser, console)
  const { clientId } = await registerApplication(page, console.origin)
  for (const path of ['/', '/applications', `/applications/${clientId}`, '/new-suite', '/audit', '/operators']) {
    await page.goto(console.origin + path)
    const seen = new Set<string>()
    for (let times = 0; times < 80; times++) {
      await page.keyboard.press('Tab')
      const focus = await focused(page)
      if (focus.tag === 'body') break
      // Chromium highlights the focused part of a date field in its own way.
      if (focus.type === 'date') continue
      t.ok(focus.isSeen, `${path}: ${focus.tag} ${focus.text.slice(0, 40)}`)
      seen.add(focus.tag)
    }
    t.ok(seen.size > 0)
  }
})
