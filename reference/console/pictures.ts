import type { Page } from 'playwright-core'
import type { Shown } from './world.ts'

/** A screenshot in docs/console.md. `before` runs on the page first. */
export interface Picture {
  name: string
  path: string
  before?: (page: Page) => Promise<void>
  /** Height in pixels; default: that of the viewport. */
  height?: number
}

/** Every screenshot of docs/console.md. */
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
    // Last, because it changes the data.
    { name: 'secret', path: '/new-application', before: register },
  ]
}

async function register(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('Gift card balance')
  await page.getByLabel('Developer email').fill('team@gifts.example')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('group', { name: 'New credentials' }).waitFor()
}
