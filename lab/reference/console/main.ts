import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { picturesOf } from './pictures.ts'
import type { World } from './world.ts'

// Takes the screenshots of docs/console.md, with its own server, simulated traffic and a browser.

const ROOT = join(import.meta.dirname, '../../..')

const FOLDER = join(ROOT, 'docs/console')
const WIDTH = 1200
const HEIGHT = 1000

// A process of its own with the options of the server's: the overview shows the memory that it uses.
const [options = ''] = readFileSync(join(ROOT, 'bin/token-server.js'), 'utf8').split('\n')
const server = fork(join(import.meta.dirname, 'world.ts'), { execArgv: options.match(/--\S+/g) ?? [] })
const [world] = (await once(server, 'message')) as [World]
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  chromiumSandbox: process.getuid?.() !== 0,
})
mkdirSync(FOLDER, { recursive: true })
for (const colorScheme of ['light', 'dark'] as const) {
  const context = await browser.newContext({
    colorScheme,
    timezoneId: 'UTC',
    viewport: { width: WIDTH, height: HEIGHT },
  })
  const page = await context.newPage()
  await page.goto(`${world.origin}/login#${world.links[colorScheme].code}`)
  await page.getByText('Signed in as').waitFor()
  const pictures = picturesOf(world.shown)
  // One screenshot of the dark scheme is enough.
  for (const { name, path, form, height = HEIGHT } of colorScheme === 'light' ? pictures : pictures.slice(0, 1)) {
    await page.goto(world.origin + path)
    if (form) await register(page, form)
    const file = join(FOLDER, `${name}${colorScheme === 'dark' ? '-dark' : ''}.png`)
    const whole = await page.evaluate(() => document.documentElement.scrollHeight)
    await page.screenshot({
      path: file,
      fullPage: true,
      clip: { x: 0, y: 0, width: WIDTH, height: Math.min(height, whole) },
    })
  }
  await context.close()
}
await browser.close()
process.exit()

async function register(page: Page, form: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(form)) await page.getByLabel(label).fill(value)
  for (const suite of await page.locator('[name=suite]').all()) await suite.check()
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('group', { name: 'New credentials' }).waitFor()
}
