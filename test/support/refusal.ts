import type { NewRefusedRequest, RefusalCount } from '../../src/domain/refusal.ts'
import { START } from './world.ts'

/** A refusal of a client, as a store keeps it; of an application, and for a wrong secret, where nothing else is said. */
export function refusal(clientId: string, more: Partial<RefusalCount> = {}): RefusalCount {
  return {
    clientId,
    isKnown: true,
    reason: 'wrong secret',
    endpoint: '/v1/oauth/accesstoken',
    suite: undefined,
    remoteAddress: '192.0.2.1',
    count: 1,
    firstAt: START,
    lastAt: START,
    detail: undefined,
    requestId: undefined,
    traceId: undefined,
    ...more,
  }
}

/** A refused request of an application, for a wrong secret, where nothing else is said. */
export function refusedRequest(requestId: string, more: Partial<NewRefusedRequest> = {}): NewRefusedRequest {
  return {
    at: START,
    requestId,
    reason: 'wrong secret',
    endpoint: '/v1/oauth/accesstoken',
    clientId: 'a',
    suite: null,
    remoteAddress: '192.0.2.1',
    detail: null,
    isKnown: true,
    ...more,
  }
}
