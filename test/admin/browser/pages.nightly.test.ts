import { browserTest } from '../../support/browser.ts'
import { lookAtPages } from '../../support/looks.ts'

browserTest('Pages: with 20,000 applications they pass axe-core and fit the window, in both colour schemes', (t) =>
  lookAtPages(t, 20_000),
)
