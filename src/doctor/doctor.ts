import { type AdminPlace, certificateFiles, noticeFiles, parseSettings, providerSettings } from '../config.ts'
import { isInMemory } from '../domain/database-location.ts'
import { CERTIFIED_LISTENERS } from '../domain/events.ts'
import type { Clock } from '../domain/time.ts'
import { checkAuditKey, checkNoticeFiles, checkPassword, checkProvider, checkSocketFolder } from './access.ts'
import { checkCertificate } from './certificates.ts'
import { checkFiles, checkLostDatabase } from './files.ts'
import { type Check, type Diagnosis, runAll } from './finding.ts'
import { addressOf, checkAdminListener, checkOpsListener, checkServer } from './listeners.ts'
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
  const files = certificateFiles(config)
  const places = { public: { host: config.HOST, port: config.PORT }, admin: ADMIN_ADDRESS, ops: OPS_ADDRESS }
  for (const listener of CERTIFIED_LISTENERS) {
    const [pair, place] = [files[listener], places[listener]]
    if (pair) after.push(['certificate', () => checkCertificate(listener, pair, now, place && urlOf(place))])
  }
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
  if (ADMIN_ADDRESS) after.push(['admin', () => checkAdminListener(ADMIN_ADDRESS, files.admin !== undefined)])
  const provider = providerSettings(config)
  if (provider) after.push(['provider', () => checkProvider(provider)])
  const notices = noticeFiles(config)
  if (notices) after.push(['notices', () => checkNoticeFiles(notices)])
  const { AUDIT_KEY_FILE } = config
  if (AUDIT_KEY_FILE) after.push(['audit', () => checkAuditKey(AUDIT_KEY_FILE)])
  if (OPS_ADDRESS) after.push(['ops', () => checkOpsListener(OPS_ADDRESS, files.ops !== undefined)])
  const found = await Promise.all([
    runAll(before),
    isStoreKnown ? checkStore(location, now, config) : [],
    runAll(after),
  ])
  // A finding that several checks report is shown once.
  return found.flat().filter(({ text }, index, all) => all.findIndex((one) => one.text === text) === index)
}

/** The URL of a listener; undefined if its port is not known. */
function urlOf(place: AdminPlace): string | undefined {
  return 'socket' in place || place.port === 0 ? undefined : addressOf(place.host, place.port, true)
}
