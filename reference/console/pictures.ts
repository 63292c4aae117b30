import type { Page } from 'playwright-core'
import type { Shown } from './world.ts'

/** A picture of the document: its file, the page that it shows, and what is done there first. */
export interface Picture {
  name: string
  path: string
  before?: (page: Page) => Promise<void>
  /** The part that is shown; left out: as much of the page as there is room for. Pixels. */
  height?: number
}

/** Every picture of docs/console.md, in its order. */
export function picturesOf({ clientId }: Shown): Picture[] {
  const application = `/applications/${clientId}`
  return [
    { name: 'overview', path: '/' },
    { name: 'applications', path: '/applications' },
    { name: 'application', path: application },
    { name: 'suites', path: '/suites' },
    { name: 'audit', path: '/audit' },
    { name: 'operators', path: '/operators' },
    { name: 'about', path: '/about' },
    // Last: it changes what the others show.
    { name: 'secret', path: '/new-application', before: register },
  ]
}

async function register(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Gift card balance')
  await page.getByLabel('Developer email').fill('team@gifts.example')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('group', { name: 'New credentials' }).waitFor()
}
