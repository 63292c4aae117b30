import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdministration } from '../../../src/administration/administration.ts'
import { readConfig } from '../../../src/config.ts'
import { run } from '../../../src/server/serve.ts'
import { createTelemetry } from '../../../src/server/telemetry.ts'
import { openStore } from '../../../src/store/open.ts'
import { controlClocks } from './clock.ts'
import { type Actor, type Client, registerAll, SHELL } from './registrations.ts'
import { makeTraffic } from './traffic.ts'

export type Shown = Pick<Client, 'clientId'>

/** The time in the screenshots. */
const NOW = Date.UTC(2027, 0, 14, 10, 24)
const DAY = 24 * 60 * 60 * 1000

/** Minutes of traffic before. */
const MINUTES = 75

/** Usage is stored once a minute, by a timer that these clocks do not control. */
const UNTIL_STORED_MS = 61_000

export type World = Awaited<ReturnType<typeof startWorld>>

// main.ts starts this as a process of its own.
process.on('disconnect', () => process.exit())
process.send?.(await startWorld())

/** Starts a server in this process, after months of registrations and an hour of traffic. */
async function startWorld() {
  const clocks = controlClocks(NOW - 120 * DAY)
  const folder = mkdtempSync(join(tmpdir(), 'token-server-pictures-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  process.chdir(folder)
  // A screenshot shows the settings, so use the usual ones.
  const config = readConfig({ ADMIN_ADDRESS: '127.0.0.1:8081', OPS_ADDRESS: '127.0.0.1:9464' })
  const telemetry = await createTelemetry('error', { isTTY: false, counts: true })
  const store = await openStore(config.DATABASE_URL, { lockTimeout: 0 })
  const { observe } = telemetry
  const as: Actor = (author) => createAdministration({ store, now: Date.now, observe, author })
  const registered = await registerAll(as, clocks.skip, NOW - MINUTES * 60_000)
  const { address, admin } = await run(async () => store, telemetry, config)
  await makeTraffic(address, registered, { minutes: MINUTES, tick: clocks.tick })
  await clocks.hold(UNTIL_STORED_MS)
  await makeTraffic(address, registered, { from: MINUTES, minutes: MINUTES + 2, tick: clocks.tick })

  const { operators } = as(SHELL)
  const links = { light: await operators.makeLoginCode('anna'), dark: await operators.makeLoginCode('anna') }
  return { origin: admin as string, shown: { clientId: registered.wrongSecret.clientId }, links }
}
