import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdministration } from '../../../src/administration/administration.ts'
import { readConfig } from '../../../src/config.ts'
import { run } from '../../../src/server/serve.ts'
import { createTelemetry } from '../../../src/server/telemetry.ts'
import { openStore } from '../../../src/store/open.ts'
import { controlClocks } from './clock.ts'
import { type Actor, registerAll, SHELL } from './registrations.ts'

/** The time in the screenshots. */
const NOW = Date.UTC(2027, 0, 14, 10, 24)
const DAY = 24 * 60 * 60 * 1000

/** Minutes of traffic before. */
export const MINUTES = 75

/** Usage is stored once a minute, by a timer that these clocks do not control. */
const UNTIL_STORED_MS = 61_000

export type World = Awaited<ReturnType<typeof startWorld>>['world']
export type Asked = keyof Awaited<ReturnType<typeof startWorld>>['answers']

/** In a process of its own: what it is, and then an answer to each thing that main.ts asks. */
export async function serveWorld(): Promise<void> {
  process.on('disconnect', () => process.exit())
  const { world, answers } = await startWorld()
  process.on('message', async (asked: Asked) => process.send?.({ answer: await answers[asked]() }))
  process.send?.(world)
}

/** Starts a server in this process, after months of registrations. */
async function startWorld() {
  const clocks = controlClocks(NOW - 120 * DAY)
  const folder = mkdtempSync(join(tmpdir(), 'token-server-pictures-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  process.chdir(folder)
  // A screenshot shows the settings, so use the usual ones.
  const config = readConfig({ ADMIN_ADDRESS: '127.0.0.1:8081', OPS_ADDRESS: '127.0.0.1:9464' })
  const telemetry = createTelemetry('error', { isTTY: false, counts: true })
  const store = await openStore(config.DATABASE_URL, { lockTimeout: 0 })
  const { observe } = telemetry
  const as: Actor = (author) => createAdministration({ store, now: Date.now, observe, author })
  const registered = await registerAll(as, clocks.skip, NOW - MINUTES * 60_000)
  const { address, admin } = await run(async () => store, telemetry, config)
  return {
    world: { address, origin: admin as string, registered },
    answers: {
      tick: clocks.tick,
      waitUntilStored: () => clocks.hold(UNTIL_STORED_MS),
      link: async () => `${admin}/login#${(await as(SHELL).operators.makeLoginCode('anna')).code}`,
    },
  }
}
