import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { listenForOperators } from '../../../src/ops/listener.ts'
import { referencePages } from '../../../src/ops/reference.ts'
import { violations } from '../../support/axe.ts'
import { browserTest, startBrowser } from '../../support/browser.ts'

/** A browser, and where it finds the page. */
async function open(t: Test) {
  const { address, close } = await listenForOperators({ host: '127.0.0.1', port: 0 }, referencePages(), () => {})
  t.teardown(close)
  return { browser: await startBrowser(t), url: `${address}/docs` }
}

browserTest('Reference: a browser shows it without a complaint, wide and narrow, light and dark', async (t) => {
  const { browser, url } = await open(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [400, 1600]) {
      const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme })
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('requestfailed', (request) => complaints.push(request.url()))
      await page.goto(url)
      t.strictSame(complaints, [], `${width} px, ${colorScheme}`)
      t.equal(
        await page.evaluate(() => document.documentElement.scrollWidth),
        width,
        'nothing is wider than the window',
      )
      t.strictSame(await clippedTexts(page), [], 'and no text is cut off')
      t.strictSame(await violations(page), [], 'axe-core finds nothing')
      const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
      t.equal(background === 'rgb(255, 255, 255)', colorScheme === 'light', 'it has the colours of the scheme')
      await page.close()
    }
  }
})

browserTest('Reference: its contents lead to every endpoint, by keyboard too', async (t) => {
  const { browser, url } = await open(t)
  const page = await browser.newPage()
  await page.goto(url)
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content')
  const targets = await page.evaluate(() =>
    [...document.querySelectorAll('a[href^="#"]')].map((link) => link.getAttribute('href')),
  )
  t.ok(targets.includes('#requestToken') && targets.includes('#everywhere'))
  for (const target of new Set(targets)) t.equal(await page.locator(String(target)).count(), 1, String(target))
})

/** The elements whose text is wider than they are. */
function clippedTexts(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('main *, nav *')]
      .filter(
        (element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline',
      )
      .map((element) => String(element.textContent).slice(0, 80)),
  )
}
