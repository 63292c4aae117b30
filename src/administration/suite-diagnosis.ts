import type { RefusalCount } from '../domain/refusal-count.ts'
import { ago } from './age.ts'
import { type Diagnosis, withoutSecret } from './diagnosis.ts'
import { withEndingSecret } from './ending-secret.ts'
import type { Instructions } from './instructions.ts'
import { type Owner, remedyOfOwner } from './remedies.ts'
import type { ShownSuite } from './suites.ts'
import { howOften, RECENT_MS, refusalText, type Trouble, troublesOf } from './troubles.ts'

interface SuiteFindings {
  suite: ShownSuite
  /** Those of the suite, newest first. */
  refusals: readonly RefusalCount[]
  /** Those of client ids like it that no application has, newest first. */
  similarRefusals: readonly RefusalCount[]
  /** Milliseconds since the epoch. */
  now: number
  instructions: Instructions
}

/** What is most likely wrong with a suite now: a suite's id, in the place of an application's. */
export function diagnoseSuite(findings: SuiteFindings): Diagnosis {
  const { suite, now, instructions } = findings
  const owner = { clientId: suite.suiteId, secrets: suite.secrets, now, instructions }
  return withEndingSecret(diagnoseRequests(findings, owner), owner)
}

function diagnoseRequests(findings: SuiteFindings, owner: Owner): Diagnosis {
  const { suite, refusals, similarRefusals, now, instructions } = findings
  const { suiteId, secrets } = suite
  const state = withoutSecret(owner)
  if (state) return { health: 'wrong', lines: [instructions.ofSuite(suiteId, state)] }
  const lastUsedAt = Math.max(...secrets.map(({ lastUsedAt = 0 }) => lastUsedAt))
  const present = troublesOf(refusals).filter(({ lastAt }) => lastUsedAt <= lastAt || lastAt >= now - RECENT_MS)
  const [first, ...others] = present.map(
    (trouble) => `${whatHappens(trouble, { lastUsedAt, now })} ${remedyOfOwner(trouble, owner)}`,
  )
  if (first) {
    const isRefused = present.some(({ lastAt }) => lastUsedAt <= lastAt)
    return { health: isRefused ? 'wrong' : 'doubtful', lines: [instructions.ofSuite(suiteId, first), ...others] }
  }
  const [trouble] = troublesOf(similarRefusals)
  const refused = trouble
    ? `A client id like this was refused, ${howOften(trouble, now)}.`
    : 'None of its requests is refused now.'
  return { health: trouble ? 'doubtful' : 'well', lines: [instructions.ofSuite(suiteId, refused, { isWell: true })] }
}

function whatHappens(trouble: Trouble, { lastUsedAt, now }: { lastUsedAt: number; now: number }): string {
  if (lastUsedAt <= trouble.lastAt) return refusalText(trouble, now)
  const nothing = `It works again: it was authenticated ${ago(lastUsedAt, now)}.`
  return `${nothing} If it runs in several places, one of them may still be wrong. Before that: ${trouble.reason}, ${howOften(trouble, now)}.`
}
