import { availableParallelism } from 'node:os'
import type { RegisteredApplication } from '../administration/applications.ts'
import type { SeedStep } from '../administration/seed.ts'
import type { Mismatch, RenamedSuite, SeedPlan } from '../administration/seed-plan.ts'
import type { RegisteredSuite } from '../administration/suites.ts'
import { registeredApplicationView, registeredSuiteView } from '../administration/views.ts'
import { APPLICATION_COLUMNS, columnsOf } from '../domain/application.ts'
import { quoted } from '../web/curl.ts'
import { createProgress, type JsonOption, say, show, type Terminal, write } from './shared/terminal.ts'
import { registeredApplicationText, registeredSuiteText, SHOWN_ONCE } from './shared/text.ts'

/**
 * Prints what a seed registers, step by step: as text, or as one JSON document with a line for each suite and application. The
 * lines can be used even if the run is killed. `show` and `end` resolve when the text is written, or reject with OutputFailed.
 */
export function createSeedOutput(terminal: Terminal, { json }: JsonOption, plan: Pick<SeedPlan, 'existing'>) {
  const document = createDocument()
  let registered = 0
  let { existing } = plan
  let isAnySecretShown = false

  return {
    show({ suites, applications }: SeedStep): Promise<void> {
      isAnySecretShown ||= [...suites, ...applications].some(({ clientSecret }) => clientSecret !== undefined)
      if (json) return write(terminal, document.append(suites, applications))
      const texts = [...suites.map(registeredSuiteText), ...applications.map((one) => registeredApplicationText(one))]
      return write(terminal, texts.map((text) => `${text}\n\n`).join(''))
    },

    /** Counts a step. `refused`: how many of its entries were not registered. */
    count({ suites, applications }: SeedStep, refused: number): void {
      registered += suites.length + applications.length - refused
      existing += refused
    },

    end(): Promise<void> {
      if (json) return write(terminal, document.end(existing))
      const sum = `Registered ${registered}, left ${existing} unchanged.\n`
      return write(terminal, isAnySecretShown ? `${SHOWN_ONCE}\n\n${sum}` : sum)
    },
  }
}

/** Builds a JSON document piece by piece. All suites must come before the first application. */
function createDocument() {
  let pending = '{\n  "suites": ['
  let isEmpty = true
  let isInApplications = false

  function appendToList(views: object[]): string {
    if (views.length === 0) return ''
    const text = `${pending}${isEmpty ? '' : ','}${views.map((view) => `\n    ${JSON.stringify(view)}`).join(',')}`
    pending = ''
    isEmpty = false
    return text
  }

  function endList(next: string): void {
    pending += `${isEmpty ? '' : '\n  '}],\n  ${next}`
    isEmpty = true
  }

  function beginApplications(): void {
    if (!isInApplications) endList('"applications": [')
    isInApplications = true
  }

  return {
    append(suites: RegisteredSuite[], applications: RegisteredApplication[]): string {
      const text = appendToList(suites.map(registeredSuiteView))
      if (applications.length > 0) beginApplications()
      return text + appendToList(applications.map(registeredApplicationView))
    },

    end(existing: number): string {
      beginApplications()
      endList(`"existing": ${existing}\n}\n`)
      return pending
    },
  }
}

/** Prints the result of `--dry-run`. */
export function printPlan(terminal: Terminal, options: JsonOption, plan: SeedPlan): Promise<void> {
  const { suites, applications } = plan.missing
  const result = {
    suites: suites.map(({ suiteId, name }) => ({ id: suiteId, name })),
    applications: applications.map(({ clientId, ...application }) => ({
      ...(clientId !== undefined && { client_id: clientId }),
      ...columnsOf(application),
    })),
    existing: plan.existing,
  }
  const missing = [
    ...suites.map(({ suiteId, name }) => `${name} (suite ${suiteId})`),
    ...applications.map(({ name, developerEmail }) => `${name} (${developerEmail})`),
  ]
  const sum = `Would register ${missing.length}, and leave ${plan.existing} unchanged. Nothing was changed.`
  return show(terminal, options, result, [...missing.map((one) => `Would register ${one}`), sum].join('\n'))
}

const MAX_WARNINGS = 20

/** Warns of probable mistakes in a plan. */
export function warnOfPlan(terminal: Terminal, options: JsonOption, plan: SeedPlan): void {
  const kinds = [plan.renamed.map(renamedText), plan.differing.map(differenceText), plan.namesakes.map(namesakeText)]
  const warnings = kinds.flatMap((texts) => {
    const more = texts.length - MAX_WARNINGS
    return more > 0 ? [...texts.slice(0, MAX_WARNINGS), `The same applies to ${more} more.`] : texts
  })
  if (plan.isWithoutSuites) {
    warnings.push('There is no suite yet, so no application is approved: register suites, then "applications approve".')
  }
  for (const warning of warnings) say(terminal, options, 'warning', warning)
}

function renamedText({ entry, suite }: RenamedSuite): string {
  const update = `suites update ${suite.suiteId} --name ${quoted(entry.name)}`
  return `The suite ${suite.suiteId} is left unchanged, although the file has another name. To change it: ${update}`
}

function differenceText({ entry, application }: Mismatch): string {
  const [wanted, present] = [columnsOf(entry), columnsOf(application)]
  const changed = APPLICATION_COLUMNS.filter((column) => wanted[column] !== present[column])
  const fields = changed.map((column) => column.replaceAll('_', ' ')).join(' and ')
  const options = changed.map((column) => `--${column.replaceAll('_', '-')} ${quoted(wanted[column])}`).join(' ')
  const id = application.clientId
  return `${id} is left unchanged, although the file has another ${fields}. To change it: applications update ${id} ${options}`
}

function namesakeText({ entry: { name, developerEmail }, application }: Mismatch): string {
  const update = `applications update ${application.clientId} --developer-email ${quoted(developerEmail)}`
  return (
    `${name} (${developerEmail}) is a new application, but ${application.clientId} of ` +
    `${application.developerEmail} has the same name. If you mean that one: ${update}`
  )
}

/** How long one core hashes one imported secret, in seconds. */
const HASH_SECONDS = 0.1

/** Reports how long a seed will take if that is long. Returns a function that counts a step and reports the progress. */
export function createSeedProgress(terminal: Terminal, options: JsonOption, { missing }: SeedPlan) {
  const total = (missing.suites.length + missing.applications.length).toLocaleString('en')
  const imported = missing.applications.filter(({ clientSecret }) => clientSecret !== undefined).length
  const seconds = Math.round((imported * HASH_SECONDS) / availableParallelism())
  if (seconds > 0) {
    say(terminal, options, 'progress', `Hashing ${imported} imported secrets will take about ${seconds} s.`)
  }
  const report = createProgress(terminal, options)
  let done = 0
  return (step: SeedStep) => {
    done += step.suites.length + step.applications.length
    report(`${done.toLocaleString('en')} of ${total}`)
  }
}
