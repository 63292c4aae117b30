import cluster from 'node:cluster'
import { open } from 'node:fs'
import { readConfig } from '../../../src/config.ts'
import { type LeaderTimeouts, runLeader } from '../../../src/server/leader.ts'
import { createTelemetry } from '../../../src/server/telemetry.ts'
import { openStore } from '../../../src/store/open.ts'

// A leader as `serve` runs it, but with the timeouts that a test gives it, and workers that run the test's program.

type Closing = 'hangs' | 'leaves a hung file' | ''
const [exec, timeouts, closing, pipe] = process.argv.slice(2) as [string, string, Closing, string]
cluster.setupPrimary({ exec, args: [] })
const config = readConfig(process.env)
const { DATABASE_URL, LOG_LEVEL, OPS_ADDRESS, ADMIN_ADDRESS } = config
const telemetry = createTelemetry(LOG_LEVEL, {
  isTTY: false,
  shared: true,
  counts: (OPS_ADDRESS ?? ADMIN_ADDRESS) !== undefined,
})

async function openForTest() {
  const store = await openStore(DATABASE_URL, { lockTimeout: 2000 })
  const close = {
    '': store.close,
    hangs: () => new Promise<void>(() => {}),
    // A pipe that nobody writes to is not opened before somebody does.
    'leaves a hung file': async () => open(pipe, () => {}),
  }[closing]
  return { ...store, close }
}

await runLeader(openForTest, telemetry, {
  config,
  settingsNow: () => ({ changed: [], problems: [] }),
  timeouts: JSON.parse(timeouts) as LeaderTimeouts,
})
