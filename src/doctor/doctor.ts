import { isInMemory } from '../domain/database-location.ts'
import type { Clock } from '../domain/time.ts'
import { examinePassword, examineSocketFolder } from './access.ts'
import { examineFiles, examineLostDatabase } from './files.ts'
import { type Check, type Diagnosis, examine } from './finding.ts'
import { examineAdminListener, examineOps, examineServer } from './listeners.ts'
import { examineClock, examineDisk, examineLimits, examineProgram } from './machine.ts'
import {
  examineCombinations,
  examineSettings,
  type ReadSettings,
  readSettings,
  type SettingsSource,
} from './settings.ts'
import { examinePrevious, examineStore } from './store.ts'

/** Looks at everything that can be looked at from outside, and changes nothing. Resolves to what was found. */
export async function diagnose(source: SettingsSource, now: Clock): Promise<Diagnosis[]> {
  const read = readSettings(source)
  const [before, store, after] = await Promise.all([
    examine(checksBefore(source, read, now)),
    isStoreKnown(read) ? examineStore(read.config.DATABASE_URL, now, read.config) : [],
    examine(checksAfter(read, now)),
  ])
  return withoutRepeats([...before, ...store, ...after])
}

/** What stops several checks is said once. */
function withoutRepeats(found: Diagnosis[]): Diagnosis[] {
  return found.filter(({ text }, at) => found.findIndex((one) => one.text === text) === at)
}

function isStoreKnown({ config, wrong }: ReadSettings): boolean {
  return !wrong.includes('DATABASE_URL') && !isInMemory(config.DATABASE_URL)
}

function checksBefore(source: SettingsSource, read: ReadSettings, now: Clock): Check[] {
  const { DATABASE_URL: location } = read.config
  const ofSettings: Check[] = [
    ['settings', () => examineSettings(source, read)],
    ['settings', () => examineCombinations(source, read)],
    ['program', examineProgram],
    ['limits', () => examineLimits()],
    ['clock', () => examineClock(now())],
  ]
  if (!isStoreKnown(read)) return ofSettings
  if (location.kind === 'postgres') return [...ofSettings, ['password', () => examinePassword(location)]]
  return [...ofSettings, ['files', () => examineFiles(location)], ['disk', () => examineDisk(location)]]
}

function checksAfter(read: ReadSettings, now: Clock): Check[] {
  const { config, wrong } = read
  const { DATABASE_URL, PREVIOUS_DATABASE_URL, OPS_ADDRESS, ADMIN_ADDRESS } = config
  const checks: Check[] = []
  if (PREVIOUS_DATABASE_URL) checks.push(['previous', () => examinePrevious(PREVIOUS_DATABASE_URL, now)])
  if (!wrong.includes('HOST') && !wrong.includes('PORT')) {
    checks.push(['server', () => examineServer(config)])
    if (DATABASE_URL.kind === 'sqlite' && isStoreKnown(read)) {
      checks.push(['server', () => examineLostDatabase(DATABASE_URL, config)])
    }
  }
  if (ADMIN_ADDRESS && 'socket' in ADMIN_ADDRESS) {
    checks.push(['admin', () => examineSocketFolder(ADMIN_ADDRESS.socket)])
  }
  if (ADMIN_ADDRESS) checks.push(['admin', () => examineAdminListener(ADMIN_ADDRESS)])
  if (OPS_ADDRESS) checks.push(['ops', () => examineOps(OPS_ADDRESS)])
  return checks
}
