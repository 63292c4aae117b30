import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { picturesOf } from './pictures.ts'
import { makeTraffic } from './traffic.ts'
import { type Asked, MINUTES, type World } from './world.ts'

// Takes the screenshots of docs/console.md, with its own server, simulated traffic and a browser.

const ROOT = join(import.meta.dirname, '../../..')

const FOLDER = join(ROOT, 'docs/console')
const WIDTH = 1200
const HEIGHT = 1000

// With the options of a server.
const [options = ''] = readFileSync(join(ROOT, 'bin/token-server.js'), 'utf8').split('\n')
const server = fork(join(import.meta.dirname, 'server/main.ts'), { execArgv: options.match(/--\S+/g) ?? [] })
const [world] = (await once(server, 'message')) as [World]
const { address, origin, registered } = world
const tick = () => ask('tick')
await makeTraffic(address, registered, { minutes: MINUTES, tick })
await ask('waitUntilStored')
await makeTraffic(address, registered, { from: MINUTES, minutes: MINUTES + 2, tick })
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
  await page.goto(await ask('link'))
  await page.getByText('Signed in as').waitFor()
  const pictures = picturesOf(registered.wrongSecret)
  // One screenshot of the dark scheme is enough.
  for (const { name, path, form, height = HEIGHT } of colorScheme === 'light' ? pictures : pictures.slice(0, 1)) {
    await page.goto(origin + path)
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

async function ask(what: Asked): Promise<string> {
  server.send(what)
  const [{ answer }] = await once(server, 'message')
  return answer
}

async function register(page: Page, form: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(form)) await page.getByLabel(label).fill(value)
  for (const suite of await page.locator('[name=suite]').all()) await suite.check()
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('group', { name: 'New credentials' }).waitFor()
}
