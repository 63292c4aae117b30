import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { browserTest } from '../../support/browser.ts'
import { signIn, startOnce } from '../../support/console.ts'
import { passesAxe } from '../../support/looks.ts'

const startShared = startOnce(async ({ command }) => {
  for (const name of ['Corner shop', 'Coffee shop'])
    await command('applications', 'register', '--name', name, '--developer-email', 'dev@partner.example')
})

/** An operator on the page of secrets. */
async function start(t: Test, options: Parameters<typeof signIn>[2] = {}) {
  const { browser, console } = await startShared(t)
  const visitor = await signIn(browser, console, options)
  const { page } = visitor
  await page.goto(`${console.origin}/secrets`)
  return { console, palette: page.locator('#palette'), hits: page.getByRole('option'), ...visitor }
}

/** The text of the hit that Enter opens. */
const chosen = (page: Page) =>
  page.evaluate(() => {
    const id = document.activeElement?.getAttribute('aria-activedescendant') ?? ''
    return document.getElementById(id)?.textContent?.trim()
  })

browserTest('Palette: Ctrl-K opens it, also in a field; arrows choose, Enter opens, Escape returns', async (t) => {
  const { console, page, palette, hits, complaints } = await start(t)
  const search = page.getByRole('searchbox')
  await search.focus()
  await page.keyboard.press('Control+k')
  await hits.filter({ hasText: 'Overview' }).waitFor()
  t.equal(await chosen(page), 'Overview', 'at first it lists the pages')
  await passesAxe(t, page, 'the palette with pages')
  await page.keyboard.press('Escape')
  t.notOk(await palette.isVisible())
  t.ok(await search.evaluate((field) => field === document.activeElement))

  await page.keyboard.press('Control+k')
  await page.keyboard.type('shop')
  await hits.filter({ hasText: 'Corner shop' }).waitFor()
  t.match(await chosen(page), /^Coffee shop/)
  await page.keyboard.press('ArrowDown')
  t.match(await chosen(page), /^Corner shop/)
  await page.keyboard.press('ArrowDown')
  t.match(await chosen(page), /^Coffee shop/, 'the last is followed by the first')
  await page.keyboard.press('ArrowUp')
  t.match(await chosen(page), /^Corner shop/)
  await passesAxe(t, page, 'the palette with hits')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Corner shop' }).waitFor()

  await page.keyboard.press('/')
  await page.keyboard.type('rotate corner')
  await hits.filter({ hasText: 'Rotate secret of Corner shop' }).click()
  await page.getByRole('dialog', { name: 'Rotate the secret of Corner shop?' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('nobody-has-this')
  await palette.getByText('No matches').waitFor()
  await passesAxe(t, page, 'the palette without a hit')
  await page.goto(`${console.origin}/search?q=shop`)
  await page.keyboard.press('/')
  await page.keyboard.type('coffee')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Coffee shop' }).waitFor()
  t.strictSame(complaints, [])
})

browserTest('Keys: “g” and a letter go to a page, “?” shows all, and they can be switched off', async (t) => {
  const { console, page, complaints } = await start(t)
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await page.keyboard.type('gr')
  await page.waitForURL(`${console.origin}/refusals`)
  await page.getByLabel('Client', { exact: true }).pressSequentially('ga?/')
  t.equal(await page.getByLabel('Client', { exact: true }).inputValue(), 'ga?/', 'in a field they are characters')
  await page.getByRole('heading', { level: 1 }).click()
  await page.keyboard.type('gz')
  await page.keyboard.type('a')
  await page.keyboard.press('?')
  t.match(await keys.textContent(), /g o.*Overview.*g b.*About/s)
  await passesAxe(t, page, 'the keys')
  await keys.getByRole('checkbox').uncheck()
  await keys.getByRole('button', { name: 'Close' }).click()
  await page.keyboard.type('ga?/')
  t.equal(await page.getByRole('dialog').count(), 0)
  t.equal(page.url(), `${console.origin}/refusals`)
  await page.keyboard.press('Meta+k')
  await page.getByRole('button', { name: 'Keys' }).click()
  await keys.getByRole('checkbox').check()
  await keys.getByRole('link', { name: 'Applications' }).click()
  await page.waitForURL(`${console.origin}/applications`)
  t.strictSame(complaints, [])
})

browserTest('Palette: when the session has ended, it leads to the login page', async (t) => {
  const { page, context } = await start(t)
  await context.clearCookies()
  await page.keyboard.press('Control+k')
  await page.waitForURL('**/login*')
})

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? ', and Escape closes them' : ' without scripts, too'
  browserTest(`Details: they open beside the list, or in its place where that is narrow${how}`, async (t) => {
    const { console, page, complaints } = await start(t, { javaScriptEnabled })
    const [side, list] = [page.locator('.side'), page.locator('.table')]
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('link', { name: 'secret 2' }).click()
    await side.getByText('Rotate or revoke it').waitFor()
    t.equal(page.url(), `${console.origin}/secrets?open=2#row-2`)
    const [left, right] = [await list.boundingBox(), await side.boundingBox()]
    t.ok(Number(left?.x) + Number(left?.width) <= Number(right?.x))
    await page.setViewportSize({ width: 400, height: 800 })
    t.strictSame([await side.isVisible(), await list.isVisible()], [true, false])
    if (javaScriptEnabled) await page.keyboard.press('Escape')
    else await side.getByRole('link', { name: 'Close' }).click()
    await page.waitForURL(`${console.origin}/secrets#row-2`)
    t.ok(await page.getByRole('link', { name: 'secret 2' }).isVisible())
    await page.goto(`${console.origin}/secrets?open=2`)
    t.equal(await page.evaluate(() => document.activeElement?.id), 'opened', 'from the search, the focus is there')
    t.strictSame(complaints, [])
  })
}
