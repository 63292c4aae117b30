import { ABBREVIATED, type ApplicationNames, abbreviated, MAX_CLIENT_ID_LENGTH } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { isTokenReason } from '../domain/reasons.ts'
import { REFUSALS_INTERVAL_MS, type RefusalCount } from '../domain/refusal.ts'
import { differsBy, enumerated } from '../domain/text.ts'
import { USAGE_INTERVAL_MS } from '../domain/usage.ts'
import { type ShownApplication, shownApplication } from './applications.ts'
import { type Authors, findAuthors, findRemoval, isOfRemoved, listRemovals } from './audit-trail.ts'
import type { ReadContext } from './context.ts'
import { type Diagnosis, diagnose, diagnoseRemoved, diagnoseSuite, diagnoseUnknown } from './diagnosis.ts'
import { stepsOfNames } from './pages.ts'
import { COMMANDS, type Instructions } from './remedies.ts'
import { listSecrets } from './secrets.ts'
import type { ShownSuite } from './suites.ts'

export interface Explanation extends Diagnosis {
  clientId: string
  application: ShownApplication | undefined
  suite: ShownSuite | undefined
  authors: Authors
  /** Newest first. */
  refusals: RefusalCount[]
  /** Refusals of unregistered client ids that look like this one, newest first. */
  similarRefusals: RefusalCount[]
  /** Applications with a similar client id, if this one is not registered. */
  similarApplications: ApplicationNames[]
  /** Later ones may not be stored yet. `tokens` also covers uses of secrets. */
  knownUntil: { refusals: number; tokens: number }
}

/**
 * Explains why a client is refused, with data up to a minute old. Throws NothingKnown if no application, suite, refusal or
 * removal has such a client id. `listUnknown` reads the refusals of unregistered client ids, among which similar ones are looked for.
 */
export function createWhy(context: ReadContext, listUnknown = () => context.store.listRefusals(undefined)) {
  const { store, now } = context

  return async (clientId: string, instructions: Instructions = COMMANDS): Promise<Explanation> => {
    const time = now()
    const knownUntil = { refusals: time - REFUSALS_INTERVAL_MS, tokens: time - USAGE_INTERVAL_MS }
    const similar = (await listUnknown()).filter((refusal) => looksLike(refusal, clientId))
    const removed = similar.length > 0 ? await listRemovals(store) : []
    const isOfAnother = (refusal: RefusalCount) =>
      removed.some((removal) => removal.clientId !== clientId && isOfRemoved(refusal, removal))
    const similarRefusals = similar.filter((refusal) => !isOfAnother(refusal))
    const registered = await store.findApplication(clientId)
    const application = registered && (await shownApplication(context, registered))
    const ofSuite = registered ? undefined : await store.findSuite(clientId)
    const suite = ofSuite && { ...ofSuite, secrets: await listSecrets(context, ofSuite.secrets) }
    const known = { clientId, application, suite, similarRefusals, knownUntil }
    if (!application && !suite) {
      const similarApplications = await listSimilar(clientId)
      const removal = await findRemoval(store, clientId)
      const asked = { clientId, similarRefusals, similarApplications, now: now(), instructions }
      if (similarRefusals.length === 0 && !removal)
        throw new NothingKnown(clientId, similarApplications, instructions.list)
      const found = removal ? diagnoseRemoved(asked, removal) : diagnoseUnknown(asked)
      return {
        ...known,
        ...found,
        authors: new Map(removal && [['status', removal]]),
        refusals: [],
        similarApplications,
      }
    }
    const recorded = await store.listRefusals(clientId)
    // Checks of tokens that belong to no known application count for the suite, but are not its own requests.
    const refusals = application ? recorded : recorded.filter(({ reason }) => !isTokenReason(reason))
    const { secrets } = (application ?? suite) as ShownSuite
    const hasEnded = application?.status === 'suspended' || secrets.some(({ endsAt }) => endsAt !== null)
    const subject = { kind: application ? 'application' : 'suite', id: clientId } as const
    const authors: Authors = hasEnded ? await findAuthors(store, subject) : new Map()
    const findings = { clientId, secrets, authors, refusals, similarRefusals, now: now(), instructions }
    const hasSuites = (await store.listSuites({ limit: 1 })).length > 0
    const found = application ? diagnose({ ...findings, application, hasSuites }) : diagnoseSuite(findings)
    return { ...known, ...found, authors, refusals, similarApplications: [] }
  }

  /** Oldest first. */
  async function listSimilar(clientId: string): Promise<ApplicationNames[]> {
    const similar: ApplicationNames[] = []
    const isNear = nearTo(clientId)
    for await (const names of stepsOfNames(store)) similar.push(...names.filter((one) => isNear(one.clientId)))
    return similar.reverse()
  }
}

/** No application or suite has this client id, and no similar one was refused. */
export class NothingKnown extends OperatorError {
  readonly similarApplications: ApplicationNames[]

  /** `list` is the command, call or page that lists all applications. */
  constructor(clientId: string, similarApplications: ApplicationNames[], list: string) {
    const ids = enumerated(similarApplications.map((application) => application.clientId))
    super(
      `No application has the client id ${clientId}, and no similar client id was refused. ` +
        (ids ? `Did you mean ${ids}?` : `Look for the application in ${list}.`),
      { kind: 'not found' },
    )
    this.similarApplications = similarApplications
  }
}

/** How many characters may be wrong, missing, added or swapped. */
const MAX_TYPOS = 2

/** How many characters longer or shorter a text may be, for example by two quotes and a line break. */
const MAX_EXTRA = 4

/** Shorter client ids all resemble each other. */
const SHORTEST = 6

/** The shortest beginning that identifies a client id. */
const SHORTEST_BEGINNING = 4

/** As generateClientId makes them. */
const GENERATED = /^[\dA-Za-z]{32}$/

/** Characters that may surround a client id by mistake. */
const WRAPPING = /["'\s<>]/

/** Whether an unregistered client id may be this one: quoted, cut off, or in another case. */
export function looksLike({ clientId: shown }: Pick<RefusalCount, 'clientId'>, clientId: string): boolean {
  const [, beginning = '', length] = ABBREVIATED.exec(shown) ?? []
  const kept = plain(beginning)
  if (shown === abbreviated(clientId)) return true
  if (kept.length < 2) return false
  const extra = Number(length) - clientId.length
  // Client ids that people have chosen often begin alike.
  const isRandom = GENERATED.test(clientId)
  const isCutOff = isRandom && extra < 0 && Number(length) >= SHORTEST_BEGINNING
  const isQuoted = kept.length < beginning.length
  return plain(clientId).startsWith(kept) && (isCutOff || Math.abs(extra) <= (isRandom || isQuoted ? MAX_EXTRA : 1))
}

/** Matches client ids that start with the requested text or differ from it by a typo or two. The text may be anything. */
export function nearTo(asked: string): (clientId: string) => boolean {
  if (asked.length > MAX_CLIENT_ID_LENGTH + MAX_EXTRA) return () => false
  const b = plain(asked)
  return (clientId) => {
    const a = plain(clientId)
    if (a === b || (b.length >= SHORTEST_BEGINNING && a.startsWith(b))) return true
    return Math.min(a.length, b.length) >= SHORTEST && differsBy(MAX_TYPOS, a, b)
  }
}

/** Lower case, without surrounding quotes and spaces. A loop, because /["\s]+$/ takes quadratic time on a thousand quotes. */
function plain(clientId: string): string {
  const isWrapping = (at: number) => WRAPPING.test(clientId.charAt(at))
  let [start, end] = [0, clientId.length]
  while (isWrapping(start)) start++
  while (end > start && isWrapping(end - 1)) end--
  return clientId.slice(start, end).toLowerCase()
}
