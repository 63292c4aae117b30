// Runs tap with the arguments that it gets, and says at the end which programs are missing, so that tests were skipped.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TEST_MISSING = mkdtempSync(join(tmpdir(), 'token-server-missing-'))
const tap = spawn('tap', process.argv.slice(2), { stdio: 'inherit', env: { ...process.env, TEST_MISSING } })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tap.kill(signal))
const [status] = await once(tap, 'exit')

// Written by test/support/needs.ts.
const programs = readdirSync(TEST_MISSING).sort((a, b) => a.localeCompare(b, 'en'))
rmSync(TEST_MISSING, { recursive: true })
if (programs.length > 0) {
  console.log(`Skipped: what needs ${programs.join(', ')}. On Debian and Ubuntu .ci/run installs what is missing.`)
}
process.exitCode = status ?? 1
