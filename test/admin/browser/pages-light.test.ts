import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { signIn, startBoth } from '../../support/console.ts'
import { ALWAYS, lookAtPages } from '../../support/console-pages.ts'

// Each page is checked at two widths, which takes a while on a busy machine.
t.setTimeout(300_000)

for (const [what, isFull] of [
  ['an empty server', false],
  ['a full server with hostile names', true],
] as const) {
  t.test(`Pages: with ${what} they pass axe-core and fit the window, in light colours`, { skip: NO_BROWSER }, (t) =>
    lookAtPages(t, 'light', isFull),
  )
}

t.test(
  'Pages: every page forbids caching and has a strict Content-Security-Policy',
  { skip: NO_BROWSER },
  async (t) => {
    const { browser, console } = await startBoth(t)
    const { page } = await signIn(browser, console)
    for (const path of ALWAYS) {
      const headers = await (await page.goto(console.origin + path))?.allHeaders()
      t.equal(headers?.['cache-control'], 'no-store', path)
      t.notMatch(headers?.['content-security-policy'], /unsafe|\*|https?:/, path)
      t.match(headers?.['content-security-policy'], /default-src 'none'.*require-trusted-types-for 'script'/, path)
    }
  },
)
