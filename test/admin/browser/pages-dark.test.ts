import t from 'tap'
import { NO_BROWSER } from '../../support/browser.ts'
import { lookAtPages } from '../../support/console-pages.ts'

// Each page is looked at twice, which takes a while where much else is going on.
t.setTimeout(300_000)

for (const [what, isFull] of [
  ['a server that has nothing', false],
  ['a server that has much, under names of all kinds', true],
] as const) {
  t.test(`Pages: with ${what} they pass axe-core and fit the window, in dark colours`, { skip: NO_BROWSER }, (t) =>
    lookAtPages(t, 'dark', isFull),
  )
}
