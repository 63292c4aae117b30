import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Operator } from '../../domain/operator.ts'
import type { Clock } from '../../domain/time.ts'
import { type Html, html } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf, callerOf, setCaller } from '../wire/caller.ts'
import { liveApplication } from './application.ts'
import { attendingOf } from './attention.ts'
import { instructionsFor } from './diagnosis.ts'
import { liveSteps } from './first-hour.ts'
import { canChange, fieldsOf } from './forms.ts'
import { sessionReferenceIn } from './login.ts'
import { liveParts } from './overview.ts'
import { liveRefusals } from './refusals.ts'
import { liveSuite } from './suites.ts'

/**
 * GET /live: the live parts of the overview, of the page of a `client`, or of the `page` of refusals, which live.js requests
 * every second. They keep only a viewer's session alive. `window` is an id that the page has generated; `new` is sent until the
 * page gets its first answer.
 */
export function serveLive(console: FastifyInstance, context: AdminContext): void {
  const { signIn, statistics, now } = context
  const windows = createWindows(now)
  const ofThisSecond = everySecond(now)

  async function partsFor(request: FastifyRequest): Promise<Html[]> {
    const { text } = fieldsOf(request.query)
    const administration = administrationOf(context, request)
    if (text('page') === 'refusals') return [await liveRefusals(administration, request, now())]
    const clientId = text('client')
    if (clientId === '') {
      const shown = await ofThisSecond('', () => statistics.read())
      return [...Object.values(liveParts(shown, await attendingOf(context, request))), ...liveSteps(shown)]
    }
    const instructions = instructionsFor(request)
    const explanation = await administration.why(clientId, instructions)
    return Object.values(
      explanation.suite
        ? await liveSuite(administration, explanation, instructions, now())
        : liveApplication(explanation, instructions, { now: now(), tokenQuota: context.about.tokenQuota }),
    )
  }

  /** While the store does not answer, the session of a live window counts as active, and the page says what is wrong. */
  async function recognize(request: FastifyRequest): Promise<void> {
    const credential = sessionReferenceIn(request)
    if (credential === undefined) return
    const found = await signIn.findSession(credential, { isLive: true }).catch((error) => {
      const operator = windows.operatorOf(keyOf(request, credential))
      if (!operator) throw error
      return { operator }
    })
    if (found) setCaller(request, { operator: found.operator, origin: 'console', credential })
  }

  const config = { takesTurn: false, findsSession: false } as const
  console.get('/live', { exposeHeadRoute: false, onRequest: recognize, config }, async (request, reply) => {
    const { credential, operator } = callerOf(request)
    const { text } = fieldsOf(request.query)
    const isNew = text('new') !== ''
    const state = windows.admit(keyOf(request, credential), operator, isNew)
    if (state === 'replaced') return reply.code(409).type('text/plain').send('Newer windows are live.\n')
    if (state === 'full') {
      return reply.code(503).header('retry-after', '30').type('text/plain').send('Too many pages are open.\n')
    }
    // Everyone sees the same on a page, except for what only admins are offered. A new window may follow a change.
    const { window, new: _, ...page } = request.query as Record<string, unknown>
    const key = `${canChange(request)} ${JSON.stringify(page)} ${isNew && window}`
    const body = await ofThisSecond(key, async () => gzipSync(html`<!doctype html>${await partsFor(request)}`.text))
    // All browsers accept gzip. The parts contain nothing secret.
    return reply.header('content-encoding', 'gzip').type('text/html; charset=utf-8').send(body)
  })
}

/** The key of a window, bound to the session so that no other session can use its id. */
function keyOf({ query }: FastifyRequest, credential: string): string {
  return `${credential} ${fieldsOf(query).text('window')}`
}

/** Returns a function that makes the value of a key at most once a second. */
function everySecond(now: Clock) {
  let madeIn = 0
  const made = new Map<string, unknown>()
  return function ofThisSecond<Value>(key: string, make: () => Value): Value {
    const second = Math.floor(now() / 1000)
    if (second !== madeIn) made.clear()
    madeIn = second
    if (!made.has(key)) made.set(key, make())
    return made.get(key) as Value
  }
}

/** How many live windows there may be, in total and per operator, so that one operator cannot take them all. */
const MAX_WINDOWS = 16
const MAX_PER_OPERATOR = 4

/** A window without a request for this long is closed, paused or hidden. */
const FORGOTTEN_MS = 5000

/** The windows with a live page, by their keys, oldest first. */
function createWindows(now: Clock) {
  const windows = new Map<string, { operator: Operator; seenAt: number }>()

  function forget(): void {
    for (const [key, { seenAt }] of windows) if (Math.abs(now() - seenAt) > FORGOTTEN_MS) windows.delete(key)
  }

  return {
    /** The operator of a window that was live a moment ago, or undefined. */
    operatorOf(key: string): Operator | undefined {
      forget()
      return windows.get(key)?.operator
    },

    /** Whether a window gets figures. A new window replaces the oldest one of an operator who is at the limit. */
    admit(key: string, operator: Operator, isNew: boolean): 'live' | 'replaced' | 'full' {
      forget()
      if (!windows.has(key)) {
        const own = [...windows.keys()].filter((other) => windows.get(other)?.operator.name === operator.name)
        if (own.length >= MAX_PER_OPERATOR && !isNew) return 'replaced'
        for (const oldest of own.slice(0, 1 - MAX_PER_OPERATOR)) windows.delete(oldest)
        if (windows.size >= MAX_WINDOWS) return 'full'
      }
      windows.set(key, { operator, seenAt: now() })
      return 'live'
    },
  }
}
