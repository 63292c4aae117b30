import type { FastifyRequest } from 'fastify'
import { CHECK_PASSED, type Observer } from '../../domain/events.ts'
import type { ActiveToken, RefusedToken } from '../../issuer/check.ts'
import type { Issuer } from '../../issuer/issuer.ts'
import { askedBy, askedFor } from './request.ts'

/** What every endpoint that checks tokens is given. */
export interface CheckOptions {
  issuer: Issuer
  observe: Observer
  /** For every check of an active token. */
  observeDetails?: Observer | undefined
  /** For what is only counted. */
  measure?: Observer | undefined
  /** Where clients find this server, without a slash at the end. */
  publicUrl: string
}

/** Reports a check of a token that is active. */
export function reportPassed(
  { observeDetails, measure }: CheckOptions,
  { application, tokenId }: ActiveToken,
  suite: string | undefined,
  request: FastifyRequest,
): void {
  const { clientId } = application
  measure?.(CHECK_PASSED)
  observeDetails?.({ type: 'token accepted', suite, clientId, tokenId, ...askedBy(request) })
}

/** Reports any other check. `endpoint`: the route's pattern. */
export function reportRefused(
  { observe }: CheckOptions,
  { kind, reason, tokenId, clientId }: RefusedToken,
  suite: string | undefined,
  endpoint: string | undefined,
  request: FastifyRequest,
): void {
  // A suite that does not exist may be any text, even a token in the wrong place.
  const isNowhere = kind === 'no such suite'
  const asked = askedFor(request, isNowhere ? undefined : endpoint)
  observe({ type: 'token refused', reason, suite: isNowhere ? undefined : suite, clientId, tokenId, ...asked })
}
