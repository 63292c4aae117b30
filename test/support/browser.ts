import { existsSync } from 'node:fs'
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'
import root, { type Test } from 'tap'
import { needs } from './needs.ts'

// Debian has Chromium; Ubuntu has it as a snap only, and its images for CI have Chrome.
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/google-chrome']
const executablePath = BROWSERS.find((file) => existsSync(file))

/** The browser that the tests of this process share. */
let shared: Promise<Browser> | undefined

/** A test that is skipped where there is no browser. */
export function browserTest(name: string, run: (t: Test) => Promise<unknown>): void {
  root.test(name, { skip: needs('Chromium', executablePath !== undefined) }, run)
}

/** A browser that keeps pages for its Back button, as ordinary ones do: a browser started for tests does not. */
export async function startOrdinaryBrowser(t: Test): Promise<Browser> {
  const browser = await launch({ ignoreDefaultArgs: ['--disable-back-forward-cache'] })
  t.teardown(() => browser.close())
  return browser
}

/** A headless browser, without background network requests. Contexts that a test has made in it are closed with the test. */
export async function startBrowser(t: Test): Promise<Browser> {
  shared ??= launch().then((browser) => {
    root.teardown(() => browser.close())
    return browser
  })
  const browser = await shared
  t.teardown(() => Promise.all(browser.contexts().map((context) => context.close())))
  return browser
}

async function launch(options: LaunchOptions = {}): Promise<Browser> {
  const off = ['gpu', 'quic', 'background-networking', 'component-update', 'sync'].map((part) => `--disable-${part}`)
  const browser = await chromium.launch({
    executablePath: executablePath as string,
    // Root, as in a container, has no sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--no-first-run', ...off],
    ...options,
  })
  return browser
}
