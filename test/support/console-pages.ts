import type { Test } from 'tap'
import { violations } from './axe.ts'
import { type Console, sideways, signIn, startBoth } from './console.ts'
import { HOSTILE_NAMES } from './hostile.ts'
import { run } from './run.ts'

const MANY = 20_000

/** Pages that exist on an empty server, too. */
export const ALWAYS = [
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

/** Checks every page in this colour scheme with axe-core, and that it fits the window. */
export async function lookAtPages(t: Test, colorScheme: 'light' | 'dark', isFull: boolean): Promise<void> {
  const { browser, console } = await startBoth(t)
  const paths = [...ALWAYS, ...(isFull ? await fillWithMuch(console) : [])]
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
  const others = complaints.filter((text) => !text.includes('404'))
  t.strictSame(others, [])

  const overview = await context.newPage()
  await overview.goto(console.origin)
  const background = await overview.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  t.equal(Number(/\d+/.exec(background)?.[0]) > 128, colorScheme === 'light', 'it has the colours of the scheme')
}

/** Adds suites and 20,000 applications. Resolves to the paths of pages that show them. */
async function fillWithMuch({ env, command }: Console): Promise<string[]> {
  const long = 'x'.repeat(200)
  const suite = 'x'.repeat(100)
  await command('suites', 'register', suite, '--name', HOSTILE_NAMES[0] as string)
  await command('suites', 'register', 'store', '--name', 'متجر')
  const applications = Array.from({ length: MANY }, (_, index) => ({
    name: HOSTILE_NAMES[index % HOSTILE_NAMES.length],
    developer_email: `${'long-name-of-a-department'.repeat(2)}${index}@partner.example`,
    ...(index === MANY - 1 && { client_id: long }),
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
