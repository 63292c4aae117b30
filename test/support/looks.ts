import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { type Console, signIn, startBoth } from './console.ts'
import { run } from './spawn.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Asserts that axe-core finds no violation of WCAG 2.2 AA or of best practices, and that the page fits its window. `runOnly`:
 * the only rule to check.
 */
export async function passesAxe(t: Test, page: Page, what: string, runOnly?: 'color-contrast'): Promise<void> {
  // `evaluate` is not subject to the page's Content-Security-Policy.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(AXE)
  const violations = await page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }, runOnly)
  t.strictSame(violations, [], what)
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  t.equal(sideways, 0, `${what}: the page does not scroll to the side`)
}

/** Asserts that the page has the colours of the scheme. */
export async function hasColours(t: Test, page: Page, scheme: 'light' | 'dark'): Promise<void> {
  const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  t.equal(Number(/\d+/.exec(background)?.[0]) > 128, scheme === 'light', `it has the colours of the ${scheme} scheme`)
}

/** Names that must not break a page: very long, without spaces, right-to-left, in various scripts, and markup. */
const HOSTILE_NAMES = [
  'Warenwirtschaftssystemschnittstellenverwaltungsdienstprogramm'.repeat(3),
  'متجر الشحن والتسليم السريع للمدن الكبيرة',
  'בדיקת מלאי אוטומטית',
  '倉庫管理システム連携アプリケーション本番環境用第二号機',
  'ราคาสินค้าเปรียบเทียบ',
  '👩‍👩‍👧‍👦 Family 🏳️‍🌈 shop 🇺🇳',
  'Z̸̡̛a̶̢͝l̵̰̈́g̷̱̈o̴͙͒ store',
  `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>`,
  'javascript:document.title="run"',
  'a',
]

/** Pages that look different on an empty server. */
const EMPTY = ['/', '/applications', '/new-application', '/suites', '/secrets', '/refusals', '/search']

/**
 * Looks at the pages of a server with some applications: narrow ones in light and wide ones in dark colours, because the
 * colours do not depend on the width.
 */
export async function lookAtPages(t: Test, applications: number): Promise<void> {
  const { browser, console } = await startBoth(t)
  const paths = applications > 0 ? [...EMPTY, ...(await fill(console, applications))] : EMPTY
  const { page, complaints } = await signIn(browser, console)
  for (const [width, colorScheme] of [
    [400, 'light'],
    [1280, 'dark'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    for (const path of paths) {
      await page.goto(console.origin + path)
      await passesAxe(t, page, `${path}, ${width} px, ${colorScheme}`)
      const foreign = page.locator('[style], style, img[src="x"], [onerror], script:not([src^="/assets/"])')
      t.equal(await foreign.count(), 0, `${path}: no inline style, and no element out of a name`)
      t.not(await page.title(), 'run')
      const heights = await page.locator('table code').evaluateAll((ids) => ids.map(({ clientHeight }) => clientHeight))
      t.ok(Math.max(0, ...heights) < 30, `${path}: each id is on one line`)
    }
    await hasColours(t, page, colorScheme)
  }
  const others = complaints.filter((text) => !text.includes('404'))
  t.strictSame(others, [])
}

/** Adds suites and applications. Resolves to the paths of pages that show them. */
async function fill({ env, command }: Console, count: number): Promise<string[]> {
  const long = 'x'.repeat(200)
  const suite = 'x'.repeat(100)
  await command('suites', 'register', suite, '--name', HOSTILE_NAMES[0] as string)
  await command('suites', 'register', 'store', '--name', 'متجر')
  const applications = Array.from({ length: count }, (_, index) => ({
    name: HOSTILE_NAMES[index % HOSTILE_NAMES.length],
    developer_email: `${'long-name-of-a-department'.repeat(2)}${index}@partner.example`,
    labels: { owner: 'web', ['k'.repeat(63)]: HOSTILE_NAMES[index % HOSTILE_NAMES.length] },
    note: HOSTILE_NAMES.join('\n'),
    ...(index === count - 1 && { client_id: long }),
  }))
  const { status, err } = await run(['seed', '-'], { env, stdin: JSON.stringify({ applications }) })
  if (status !== 0) throw new Error(err)
  await command('applications', 'suspend', long)
  await command('secrets', 'rotate', long, '--overlap', '1h')
  return [
    ...['/new-suite', '/audit', '/operators', '/about', '/nowhere', '/docs/http.md', '/docs/operations/commands.md'],
    `/applications/${long}`,
    `/applications/${long}/edit`,
    `/applications/${long}/remove`,
    `/applications?for=${suite}`,
    '/applications?columns=&columns=Client+id&columns=Labels&columns=Secret+ends',
    '/applications?sort=used&status=quiet',
    '/applications?search=nobody-is-called-this',
    '/search?q=x',
    '/search?q=nobody-is-called-this',
    '/refusals?open=nobody',
    '/secrets?open=1',
    '/audit?open=1',
    '/applications?status=suspended',
    `/suites/${suite}`,
    '/suites/store',
    `/audit?subject=${long}`,
  ]
}
