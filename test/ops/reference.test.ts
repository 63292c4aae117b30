import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import t from 'tap'
import { listenForOperators } from '../../src/ops/listener.ts'
import { referencePages } from '../../src/ops/reference.ts'
import { violations } from '../support/axe.ts'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const DOCS = new URL('../../docs/', import.meta.url)

async function startListener(t: { teardown: (end: () => Promise<void>) => void }): Promise<string> {
  const { address, close } = await listenForOperators({ host: '127.0.0.1', port: 0 }, referencePages())
  t.teardown(close)
  return address
}

t.test('Reference: it is at /docs, and the description at /openapi.yaml', async (t) => {
  const address = await startListener(t)
  for (const [path, file, type] of [
    ['/docs', 'reference.html', 'text/html; charset=utf-8'],
    ['/openapi.yaml', 'openapi.yaml', 'application/yaml; charset=utf-8'],
  ] as const) {
    const answer = await fetch(address + path)
    t.strictSame([answer.status, answer.headers.get('content-type')], [200, type])
    t.equal(await answer.text(), readFileSync(new URL(file, DOCS), 'utf8'))
  }
})

t.test('Reference: the image has the page and the description', async (t) => {
  const read = (file: string) => readFileSync(new URL(`../${file}`, DOCS), 'utf8')
  t.match(read('Dockerfile'), /^COPY docs\/openapi\.yaml docs\/reference\.html \/app\/docs\/$/m)
  for (const file of ['openapi.yaml', 'reference.html']) t.ok(read('.dockerignore').includes(`\n!docs/${file}\n`), file)
})

t.test('Reference: where its files are missing, nothing else is', async (t) => {
  const folder = temporaryFolder(t)
  t.strictSame(referencePages(pathToFileURL(`${folder}/`)), {})
})

t.test('Reference: it may load nothing and run nothing', async (t) => {
  const { headers } = await fetch(`${await startListener(t)}/docs`)
  t.match(
    headers.get('content-security-policy'),
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  )
  const page = readFileSync(new URL('reference.html', DOCS), 'utf8')
  t.notMatch(page, /<script|<link|<img|<iframe|\bstyle=|\bon\w+=|@import|url\(/i)
  t.strictSame(
    [...page.matchAll(/(?:href|src)="([^#"][^"]*)"/g)].map(([, target]) => target),
    ['openapi.yaml'],
  )
})

t.test(
  'Reference: a browser shows it without a complaint, wide and narrow, light and dark',
  { skip: NO_BROWSER },
  async (t) => {
    const address = await startListener(t)
    const browser = await startBrowser(t)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [400, 1600]) {
        const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme })
        const complaints: string[] = []
        page.on('console', (message) => complaints.push(message.text()))
        page.on('pageerror', (error) => complaints.push(error.message))
        page.on('requestfailed', (request) => complaints.push(request.url()))
        await page.goto(`${address}/docs`)
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
  },
)

t.test('Reference: its contents lead to every endpoint, by keyboard too', { skip: NO_BROWSER }, async (t) => {
  const address = await startListener(t)
  const browser = await startBrowser(t)
  const page = await browser.newPage()
  await page.goto(`${address}/docs`)
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
