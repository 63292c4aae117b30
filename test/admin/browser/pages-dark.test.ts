import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { lookAtPages } from '../../support/console-pages.ts'

// Each page is checked at two widths, which takes a while on a busy machine.
t.setTimeout(300_000)

for (const [what, isFull] of [
  ['an empty server', false],
  ['a full server with hostile names', true],
] as const) {
  t.test(`Pages: with ${what} they pass axe-core and fit the window, in dark colours`, { skip: NO_BROWSER }, (t) =>
    lookAtPages(t, 'dark', isFull),
  )
}
