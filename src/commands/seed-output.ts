import { availableParallelism } from 'node:os'
import type { RegisteredApplication } from '../administration/applications.ts'
import { type Fields, type PlannedChange, pick } from '../administration/apply-plan.ts'
import type { SeedPlan, SeedStep } from '../administration/seed.ts'
import type { RegisteredSuite } from '../administration/suites.ts'
import { registeredApplicationView, registeredSuiteView } from '../administration/views.ts'
import { APPLICATION_COLUMNS } from '../domain/application.ts'
import { quoted } from '../web/curl.ts'
import { type JsonOption, say, show, type Terminal, write } from './shared/terminal.ts'
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
      isAnySecretShown ||= [...suites, ...applications].some(({ clientSecret }) => Boolean(clientSecret))
      if (json) return write(terminal, document.append(suites, applications))
      const texts = [...suites.map(registeredSuiteText), ...applications.map((one) => registeredApplicationText(one))]
      return write(terminal, texts.map((text) => `${text}\n\n`).join(''))
    },

    /** Counts a step. `refused` is how many of its entries were not registered. */
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

export function printPlan(terminal: Terminal, options: JsonOption, { added, existing }: SeedPlan): Promise<void> {
  const { suite = [], application = [] } = Object.groupBy(added, ({ kind }) => kind)
  const result = {
    suites: suite.map(({ id, name }) => ({ id, name })),
    applications: application.map(({ id, after }) => ({
      ...(id && { client_id: id }),
      ...pick(after as Fields, APPLICATION_COLUMNS),
    })),
    existing,
  }
  const texts = added.map(({ kind, id, name, after }) => {
    return `Would register ${name} (${kind === 'suite' ? `suite ${id}` : after?.developer_email})`
  })
  const sum = `Would register ${added.length}, and leave ${existing} unchanged. Nothing was changed.`
  return show(terminal, options, result, [...texts, sum].join('\n'))
}

const MAX_WARNINGS = 20

/** Warns of probable mistakes in a plan. */
export function warnOfPlan(terminal: Terminal, options: JsonOption, plan: SeedPlan): void {
  const differing = Map.groupBy(plan.differing, ({ kind }) => kind).values()
  const groups = [...differing.map((alike) => alike.map(differenceText)), plan.namesakes.map(namesakeText)]
  const warnings = groups.flatMap((texts) => {
    const more = texts.length - MAX_WARNINGS
    return more > 0 ? [...texts.slice(0, MAX_WARNINGS), `The same applies to ${more} more.`] : texts
  })
  if (plan.isWithoutSuites) {
    warnings.push('There is no suite yet, so no application is approved: register suites, then "applications approve".')
  }
  for (const warning of warnings) say(terminal, options, 'warning', warning)
}

function differenceText({ kind, id, after }: PlannedChange): string {
  const changed = Object.entries(after as Fields)
  const fields = changed.map(([column]) => column.replaceAll('_', ' ')).join(' and ')
  const values = changed.map(([column, value]) => `--${column.replaceAll('_', '-')} ${quoted(String(value))}`).join(' ')
  return (
    `The ${kind} ${id} is left unchanged, although the file has another ${fields}. ` +
    `To change it: ${kind}s update ${id} ${values}`
  )
}

function namesakeText({ added: { name, after }, application }: SeedPlan['namesakes'][number]): string {
  const { client_id: id, developer_email: present } = application
  const wanted = String(after?.developer_email)
  return (
    `${name} (${wanted}) is a new application, but ${id} of ${present} has the same name. ` +
    `If you mean that one: applications update ${id} --developer-email ${quoted(wanted)}`
  )
}

/** How long one core hashes one imported secret, in seconds. */
const HASH_SECONDS = 0.1

/** Says how long imported secrets will take if that is long. */
export function sayDuration(terminal: Terminal, options: JsonOption, { added }: Pick<SeedPlan, 'added'>): void {
  const imported = added.filter(({ after }) => after?.client_secret !== undefined).length
  const seconds = Math.round((imported * HASH_SECONDS) / availableParallelism())
  if (seconds === 0) return
  say(terminal, options, 'progress', `Hashing ${imported} imported secrets will take about ${seconds} s.`)
}
