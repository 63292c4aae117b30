import { browserTest } from '../../support/browser.ts'
import { lookAtPages } from '../../support/console-pages.ts'

for (const [what, applications] of [
  ['an empty server', 0],
  ['hostile names', 60],
] as const) {
  browserTest(`Pages: with ${what} they pass axe-core and fit the window, in both colour schemes`, (t) =>
    lookAtPages(t, applications),
  )
}
