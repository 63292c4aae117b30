import type { BrowserContext } from 'playwright-core'
import type { Test } from 'tap'
import { violations } from './axe.ts'
import { type Console, sideways, signIn, startBoth } from './console.ts'
import { HOSTILE_NAMES } from './hostile.ts'
import { run } from './run.ts'

/** Pages that exist on an empty server, too. */
const ALWAYS = [
  '/',
  '/applications',
  '/new-application',
  '/suites',
  '/new-suite',
  '/audit',
  '/operators',
  '/about',
  '/nowhere',
]

/** Checks every page with axe-core in both colour schemes, and that it fits the window, on a server with some applications. */
export async function lookAtPages(t: Test, applications: number): Promise<void> {
  const { browser, console } = await startBoth(t)
  const paths = [...ALWAYS, ...(applications > 0 ? await fill(console, applications) : [])]
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, context, complaints } = await signIn(browser, console, { colorScheme })
    for (const width of [400, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      for (const path of paths) {
        await page.goto(console.origin + path)
        const which = `${path}, ${width} px, ${colorScheme}`
        t.strictSame(await violations(page), [], which)
        t.equal(await sideways(page), 0, `${which}: the page does not scroll to the side`)
        t.equal(await page.locator('[style], style').count(), 0, 'no inline styles')
      }
    }
    t.strictSame(
      complaints.filter((text) => !text.includes('404')),
      [],
    )
    await showsColours(t, context, console, colorScheme)
  }
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
    ...(index === count - 1 && { client_id: long }),
  }))
  const { status, err } = await run(['seed', '-'], { env, stdin: JSON.stringify({ applications }) })
  if (status !== 0) throw new Error(err)
  await command('applications', 'suspend', long)
  await command('secrets', 'rotate', long, '--overlap', '1h')
  return [
    `/applications/${long}`,
    `/applications/${long}/remove`,
    '/applications?search=store',
    '/applications?search=nobody-is-called-this',
    '/applications?status=suspended',
    `/suites/${suite}`,
    '/suites/store',
    `/audit?subject=${long}`,
  ]
}

async function showsColours(t: Test, context: BrowserContext, { origin }: Console, scheme: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(origin)
  const [red = 0] =
    (await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).match(/\d+/g) ?? []
  t.equal(Number(red) > 128, scheme === 'light', 'it has the colours of the scheme')
}
