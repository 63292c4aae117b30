import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'

/** Debian's; other systems' tests are skipped. */
const CHROMIUM = '/usr/bin/chromium'

export const NO_BROWSER = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`

/** A browser without a window that looks nothing up by itself. */
export async function startBrowser(t: Test): Promise<Browser> {
  const off = ['gpu', 'quic', 'background-networking', 'component-update', 'sync'].map((part) => `--disable-${part}`)
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // Root, as in a container, has no sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--no-first-run', ...off],
  })
  t.teardown(() => browser.close())
  return browser
}
