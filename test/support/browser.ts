import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'
import { needs } from './needs.ts'

// Debian has Chromium; Ubuntu has it as a snap only, and its images for CI have Chrome.
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/google-chrome']
const executablePath = BROWSERS.find((file) => existsSync(file))

export const NO_BROWSER = needs('Chromium', executablePath !== undefined)

/** A headless browser without background network requests. `args`: additional command-line options. */
export async function startBrowser(t: Test, args: string[] = []): Promise<Browser> {
  const off = ['gpu', 'quic', 'background-networking', 'component-update', 'sync'].map((part) => `--disable-${part}`)
  const browser = await chromium.launch({
    executablePath: executablePath as string,
    // Root, as in a container, has no sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--no-first-run', ...off, ...args],
  })
  t.teardown(() => browser.close())
  return browser
}
