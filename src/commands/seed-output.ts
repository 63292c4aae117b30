import { availableParallelism } from 'node:os'
import type { RegisteredApplication } from '../administration/applications.ts'
import type { SeedStep } from '../administration/seed.ts'
import type { RenamedSuite, Resemblance, SeedPlan } from '../administration/seed-plan.ts'
import type { RegisteredSuite } from '../administration/suites.ts'
import { registeredApplicationView, registeredSuiteView } from '../administration/views.ts'
import { type JsonOption, say, show, type Terminal, write } from './shared/terminal.ts'
import { registeredApplicationText, registeredSuiteText, SHOWN_ONCE } from './shared/text.ts'

/** What a run has done until now. */
interface Totals {
  registered: number
  existing: number
  isAnySecretShown: boolean
}

/**
 * Shows what a seed registers while it goes on: words, or one JSON document with a line for each suite and application, so
 * that what is shown can be used if the run is killed. `show` and `end` resolve when that is written, or reject with OutputFailed.
 */
export function createSeedOutput(terminal: Terminal, { json }: JsonOption, plan: SeedPlan) {
  const totals: Totals = { registered: 0, existing: plan.existing, isAnySecretShown: false }
  const format = json ? createDocument() : createWords()

  return {
    show({ suites, applications }: SeedStep): Promise<void> {
      totals.isAnySecretShown ||=
        suites.length > 0 || applications.some(({ clientSecret }) => clientSecret !== undefined)
      return write(terminal, suites.map(format.suite).join('') + applications.map(format.application).join(''))
    },

    /** Counts a step that was registered, but for so many of it. */
    count({ suites, applications }: SeedStep, refused: number): void {
      totals.registered += suites.length + applications.length - refused
      totals.existing += refused
    },

    end: () => write(terminal, format.end(totals)),
  }
}

function createWords() {
  return {
    suite: (suite: RegisteredSuite) => `${registeredSuiteText(suite)}\n\n`,
    application: (application: RegisteredApplication) => `${registeredApplicationText(application)}\n\n`,
    end({ registered, existing, isAnySecretShown }: Totals): string {
      const sum = `Registered ${registered}, left ${existing} as they were.\n`
      return isAnySecretShown ? `${SHOWN_ONCE}\n\n${sum}` : sum
    },
  }
}

/** Suites come first. */
function createDocument() {
  let text = '{\n  "suites": ['
  let isInApplications = false
  let isFirst = true

  function item(view: object): string {
    const piece = `${text}${isFirst ? '' : ','}\n    ${JSON.stringify(view)}`
    text = ''
    isFirst = false
    return piece
  }

  function beginApplications(): void {
    if (isInApplications) return
    text += `${isFirst ? '' : '\n  '}],\n  "applications": [`
    isInApplications = isFirst = true
  }

  return {
    suite: (suite: RegisteredSuite) => item(registeredSuiteView(suite)),
    application(application: RegisteredApplication): string {
      beginApplications()
      return item(registeredApplicationView(application))
    },
    end({ existing }: Totals): string {
      beginApplications()
      return `${text}${isFirst ? '' : '\n  '}],\n  "existing": ${existing}\n}\n`
    },
  }
}

/** What it takes to hash one imported secret on one core, in seconds. */
const HASH_SECONDS = 0.1

/** This many warnings of a kind are told. */
const TOLD = 20

/** How often progress is told, in milliseconds. */
const ON_TERMINAL_MS = 1000
const ELSEWHERE_MS = 10_000

/** What `--dry-run` prints. */
export function printPlan(terminal: Terminal, options: JsonOption, plan: SeedPlan): Promise<void> {
  const suites = [...plan.renewed.suites, ...plan.missing.suites]
  const applications = [...plan.renewed.applications, ...plan.missing.applications]
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
export function createSeedProgress(terminal: Terminal, options: JsonOption, { missing, renewed }: SeedPlan) {
  const all = [missing, renewed].flatMap(({ suites, applications }) => [suites.length, applications.length])
  const total = all.reduce((sum, count) => sum + count).toLocaleString('en')
  const interval = terminal.stderr.isTTY ? ON_TERMINAL_MS : ELSEWHERE_MS
  let done = 0
  let toldAt = performance.now()

  const imported = missing.applications.filter(({ clientSecret }) => clientSecret !== undefined).length
  const seconds = Math.round((imported * HASH_SECONDS) / availableParallelism())
  if (seconds > 0) {
    say(terminal, options, 'progress', `${imported} imported secrets are to be hashed: that takes about ${seconds} s.`)
  }

  return (step: SeedStep) => {
    done += step.suites.length + step.applications.length
    if (performance.now() < toldAt + interval) return
    toldAt = performance.now()
    say(terminal, options, 'progress', `${done.toLocaleString('en')} of ${total}`)
  }
}
