import type { FastifyRequest } from 'fastify'
import { CHECK_PASSED, type Observer } from '../../domain/events.ts'
import type { Verdict } from '../../issuer/check.ts'
import type { Issuer } from '../../issuer/issuer.ts'
import { requestContext, requesterOf } from './request.ts'

export interface CheckOptions {
  issuer: Issuer
  observe: Observer
  /** Receives an event for each check of an active token. */
  observeDetails?: Observer | undefined
  /** Counts a check of a valid token of this application, at this suite. */
  countCheck: (clientId: string, suite: string | undefined) => void
  /** Receives events that are only counted. */
  measure?: Observer | undefined
  /** The URL of this server for clients, without a trailing slash. */
  publicUrl: string
}

export function reportCheck(
  { observe, observeDetails, countCheck, measure }: CheckOptions,
  verdict: Verdict,
  suite: string | undefined,
  request: FastifyRequest,
): void {
  if (verdict.kind === 'active') {
    const { tokenId, application } = verdict
    const { clientId } = application
    countCheck(clientId, suite)
    measure?.(CHECK_PASSED)
    observeDetails?.({ type: 'token accepted', suite, clientId, tokenId, ...requesterOf(request) })
    return
  }
  const { kind, reason, tokenId, clientId } = verdict
  // An unknown suite may be any text, even a misplaced token: neither it nor its path is logged unchanged.
  const isKnown = kind !== 'no such suite'
  const context = requestContext(request, isKnown ? request.routeOptions.url : undefined)
  observe({ type: 'token refused', reason, suite: isKnown ? suite : undefined, clientId, tokenId, ...context })
}
