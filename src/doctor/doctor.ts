import { noticeFiles, parseSettings, providerSettings } from '../config.ts'
import { isInMemory } from '../domain/database-location.ts'
import type { Clock } from '../domain/time.ts'
import { checkNoticeFiles, checkPassword, checkProvider, checkSocketFolder } from './access.ts'
import { checkFiles, checkLostDatabase } from './files.ts'
import { type Check, type Diagnosis, runAll } from './finding.ts'
import { checkAdminListener, checkOpsListener, checkServer } from './listeners.ts'
import { checkClock, checkDisk, checkLimits, checkProgram } from './machine.ts'
import { checkCombinations, checkSettings, isWrong, type SettingsSource } from './settings.ts'
import { checkPrevious, checkStore } from './store.ts'

/** Checks everything that can be seen from outside the server, and changes nothing. */
export async function diagnose(source: SettingsSource, now: Clock): Promise<Diagnosis[]> {
  const parsed = parseSettings({ ...source.file, ...source.env }, source.file)
  const { config, problems } = parsed
  const { DATABASE_URL: location, PREVIOUS_DATABASE_URL, OPS_ADDRESS, ADMIN_ADDRESS } = config
  const isStoreKnown = !isWrong(problems, 'DATABASE_URL') && !isInMemory(location)
  const before: Check[] = [
    ['settings', () => checkSettings(source, parsed)],
    ['settings', () => checkCombinations(source, parsed)],
    ['program', checkProgram],
    ['limits', () => checkLimits()],
    ['clock', () => checkClock(now())],
  ]
  const after: Check[] = []
  if (isStoreKnown && location.kind === 'postgres') before.push(['password', () => checkPassword(location)])
  if (isStoreKnown && location.kind === 'sqlite') {
    before.push(['files', () => checkFiles(location)], ['disk', () => checkDisk(location)])
  }
  if (PREVIOUS_DATABASE_URL) after.push(['previous', () => checkPrevious(PREVIOUS_DATABASE_URL, now)])
  if (!isWrong(problems, 'HOST') && !isWrong(problems, 'PORT')) {
    after.push(['server', () => checkServer(config)])
    if (isStoreKnown && location.kind === 'sqlite') after.push(['server', () => checkLostDatabase(location, config)])
  }
  if (ADMIN_ADDRESS && 'socket' in ADMIN_ADDRESS) {
    after.push(['admin', () => checkSocketFolder(ADMIN_ADDRESS.socket)])
  }
  if (ADMIN_ADDRESS) after.push(['admin', () => checkAdminListener(ADMIN_ADDRESS)])
  const provider = providerSettings(config)
  if (provider) after.push(['provider', () => checkProvider(provider)])
  const files = noticeFiles(config)
  if (files) after.push(['notices', () => checkNoticeFiles(files)])
  if (OPS_ADDRESS) after.push(['ops', () => checkOpsListener(OPS_ADDRESS)])
  const found = await Promise.all([
    runAll(before),
    isStoreKnown ? checkStore(location, now, config) : [],
    runAll(after),
  ])
  // A finding that several checks report is shown once.
  return found.flat().filter(({ text }, index, all) => all.findIndex((one) => one.text === text) === index)
}
