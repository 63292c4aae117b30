// Runs tap with the given arguments. At the end it repeats what failed, and lists the missing programs whose tests were skipped.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TEST_MISSING = mkdtempSync(join(tmpdir(), 'token-server-missing-'))
const tap = spawn('tap', process.argv.slice(2), { stdio: 'inherit', env: { ...process.env, TEST_MISSING } })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tap.kill(signal))
const [status] = await once(tap, 'exit')

const results = globSync('.tap/test-results/**/*.tap').filter(
  (file) => statSync(file).mtimeMs >= performance.timeOrigin,
)
const isFiltered = process.argv.some((argument) => /^(--grep|-g)/.test(argument))
const isEmpty = isFiltered && !results.some((file) => /^ *ok (?!.*# SKIP filter)/m.test(readFileSync(file, 'utf8')))
if (isEmpty) console.log('No test was run: no name matches --grep.')

if (status !== 0) {
  for (const file of results) {
    const failures = readFileSync(file, 'utf8').match(/^ *not ok [^\n]*\n(?: *---\n.*?\n *\.\.\.\n)?/gms) ?? []
    for (const failure of failures) console.log(`Failed: ${file}\n${failure.split('\n').slice(0, 40).join('\n')}`)
  }
}

// Written by test/support/needs.ts.
const programs = readdirSync(TEST_MISSING).sort((a, b) => a.localeCompare(b, 'en'))
rmSync(TEST_MISSING, { recursive: true })
if (programs.length > 0) {
  console.log(`Skipped: what needs ${programs.join(', ')}. On Debian and Ubuntu .ci/run installs what is missing.`)
}
process.exitCode = isEmpty ? 1 : (status ?? 1)
