import type { RegisteredApplication } from '../administration/applications.ts'
import type { Seeded } from '../administration/seed.ts'
import type { SeedPlan } from '../administration/seed-plan.ts'
import type { RegisteredSuite } from '../administration/suites.ts'
import { registeredApplicationView, registeredSuiteView } from '../administration/views.ts'
import { type JsonOption, type Terminal, write } from './shared/terminal.ts'
import { registeredApplicationText, registeredSuiteText, SHOWN_ONCE } from './shared/words.ts'

/** What a run has done until now. */
interface Totals {
  registered: number
  existing: number
  isAnySecretShown: boolean
}

/**
 * Shows what a seed registers while it goes on: words, or one JSON document with a line for each suite and application, so
 * that what is shown can be used if the run is killed. Each call resolves when that is written; it rejects with OutputFailed.
 */
export function createSeedOutput(terminal: Terminal, { json }: JsonOption, plan: SeedPlan) {
  const totals: Totals = { registered: 0, existing: plan.existing, isAnySecretShown: false }
  const format = json ? createDocument() : createWords()

  return {
    show({ suites, applications, existing }: Seeded): Promise<void> {
      totals.registered += suites.length + applications.length
      totals.existing += existing
      totals.isAnySecretShown ||=
        suites.length > 0 || applications.some(({ clientSecret }) => clientSecret !== undefined)
      return write(terminal, suites.map(format.suite).join('') + applications.map(format.application).join(''))
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
