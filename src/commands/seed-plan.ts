import { availableParallelism } from 'node:os'
import type { Seeded } from '../administration/seed.ts'
import type { RenamedSuite, Resemblance, SeedPlan } from '../administration/seed-plan.ts'
import { type JsonOption, say, show, type Terminal } from './shared/terminal.ts'

/** What it takes to hash one imported secret on one core, in seconds. */
const HASH_SECONDS = 0.1

/** This many warnings of a kind are told. */
const TOLD = 20

/** How often progress is told, in milliseconds. */
const ON_TERMINAL_MS = 1000
const ELSEWHERE_MS = 10_000

/** What `--dry-run` prints. */
export function printPlan(terminal: Terminal, options: JsonOption, plan: SeedPlan): Promise<void> {
  const suites = [...plan.unfinished.suites, ...plan.missing.suites]
  const applications = [...plan.unfinished.applications, ...plan.missing.applications]
  const result = {
    suites: suites.map(({ suiteId, name }) => ({ id: suiteId, name })),
    applications: applications.map(({ clientId, name, developerEmail }) => ({
      ...(clientId !== undefined && { client_id: clientId }),
      name,
      developer_email: developerEmail,
    })),
    existing: plan.existing,
  }
  const missing = [
    ...suites.map(({ suiteId, name }) => `${name} (suite ${suiteId})`),
    ...applications.map(({ name, developerEmail }) => `${name} (${developerEmail})`),
  ]
  const sum = `Would register ${missing.length}, and leave ${plan.existing} as they are. Nothing was changed.`
  return show(terminal, options, result, [...missing.map((one) => `Would register ${one}`), sum].join('\n'))
}

/** Says what in a plan may not be what the operator meant. */
export function warnOfPlan(terminal: Terminal, options: JsonOption, plan: SeedPlan): void {
  const warnings = [
    ...tell(plan.renamed, renamedText),
    ...tell(plan.differing, differenceText),
    ...tell(plan.namesakes, namesakeText),
  ]
  if (plan.isWithoutSuites) {
    warnings.push('There is no suite yet: the applications are approved for none, until "applications approve".')
  }
  for (const warning of warnings) say(terminal, options, 'warning', warning)
}

function tell<One>(resemblances: One[], text: (one: One) => string): string[] {
  const rest = resemblances.length - TOLD
  return [...resemblances.slice(0, TOLD).map(text), ...(rest > 0 ? [`The same holds for ${rest} more.`] : [])]
}

function renamedText({ entry, suite }: RenamedSuite): string {
  const update = `suites update ${suite.suiteId} --name ${quoted(entry.name)}`
  return `The suite ${suite.suiteId} differs from the file in its name, and is left as it is. To change it: ${update}`
}

function differenceText({ entry, application }: Resemblance): string {
  const id = application.clientId
  const changes = [
    entry.name === application.name ? [] : ['name', `--name ${quoted(entry.name)}`],
    entry.developerEmail === application.developerEmail
      ? []
      : ['developer email', `--developer-email ${quoted(entry.developerEmail)}`],
  ].filter(([field]) => field !== undefined)
  const fields = changes.map(([field]) => field).join(' and ')
  const update = `applications update ${id} ${changes.map(([, option]) => option).join(' ')}`
  return `${id} differs from the file in its ${fields}, and is left as it is. To change it: ${update}`
}

function namesakeText({ entry, application }: Resemblance): string {
  const { name, developerEmail } = entry
  const update = `applications update ${application.clientId} --developer-email ${quoted(developerEmail)}`
  return (
    `${name} (${developerEmail}) is a new application, though ${application.clientId} of ` +
    `${application.developerEmail} has the same name. If that is the one that is meant: ${update}`
  )
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Says how long a seed takes, where that is long, and from time to time how far it is. */
export function createSeedProgress(terminal: Terminal, options: JsonOption, { missing, unfinished }: SeedPlan) {
  const all = [missing, unfinished].flatMap(({ suites, applications }) => [suites.length, applications.length])
  const total = all.reduce((sum, count) => sum + count).toLocaleString('en')
  const interval = terminal.stderr.isTTY ? ON_TERMINAL_MS : ELSEWHERE_MS
  let done = 0
  let toldAt = performance.now()

  const imported = missing.applications.filter(({ clientSecret }) => clientSecret !== undefined).length
  const seconds = Math.round((imported * HASH_SECONDS) / availableParallelism())
  if (seconds > 0) {
    say(terminal, options, 'progress', `${imported} imported secrets are to be hashed: that takes about ${seconds} s.`)
  }

  return (step: Seeded) => {
    done += step.suites.length + step.applications.length + step.existing
    if (performance.now() < toldAt + interval) return
    toldAt = performance.now()
    say(terminal, options, 'progress', `${done.toLocaleString('en')} of ${total}`)
  }
}
