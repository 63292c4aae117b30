import type { DocumentedAnswer, Operation } from '../../../reference/description.ts'
import type { Trouble } from './admin-world.ts'
import type { Sent } from './exchange.ts'

/** How to provoke a documented response: how the request differs from the operation's usual one. */
export interface Cause {
  change?: (sent: Sent, answer: DocumentedAnswer) => Sent
  trouble?: Trouble
  /** Whose admin key to send; default: the admin's. */
  as?: 'viewer'
  /** A request to send first. */
  before?: (sent: Sent) => Sent
}

/** The request for the first documented response of an operation, built from its examples. */
export function usualRequest(
  { method, path, parameters, requestBody }: Operation,
  { adminKey }: { adminKey: string },
): Sent {
  const given = parameters.filter(({ example }) => example !== undefined)
  const target = given
    .filter((one) => one.in === 'path')
    .reduce((path, { name, example }) => path.replace(`{${name}}`, encodeURIComponent(String(example))), path)
  const query = given.filter((one) => one.in === 'query').map(({ name, example }) => [name, String(example)])
  const [example] = Object.values(requestBody?.content?.['application/json']?.examples ?? {})
  const headers: Sent['headers'] = { Host: 'localhost', Authorization: `Bearer ${adminKey}` }
  if (example) headers['Content-Type'] = 'application/json'
  return {
    method,
    target: query.length === 0 ? target : `${target}?${new URLSearchParams(query)}`,
    headers,
    body: example ? JSON.stringify(example.value) : '',
  }
}

const withHeaders = (headers: Sent['headers']) => (sent: Sent) => ({
  ...sent,
  headers: { ...sent.headers, ...headers },
})
const withQuery = (name: string, value: string) => (sent: Sent) => {
  const [path, query] = sent.target.split('?')
  const parameters = new URLSearchParams(query)
  parameters.set(name, value)
  return { ...sent, target: `${path}?${parameters}` }
}
const withBody = (change: (body: Record<string, unknown>) => void) => (sent: Sent) => {
  const body = JSON.parse(sent.body as string)
  change(body)
  return { ...sent, body: JSON.stringify(body) }
}
const withTarget = (from: string | RegExp, to: string) => (sent: Sent) => ({
  ...sent,
  target: sent.target.replace(from, to),
})
const withKey = withHeaders({ 'Idempotency-Key': 'a' })
const without = (name: string) => (sent: Sent) => {
  const { [name]: _left, ...headers } = sent.headers
  return { ...sent, headers }
}

/** By example name, or by operation and example name. Other examples result from the usual request. */
export const CAUSES: Record<string, Cause> = {
  'bad-limit': { change: withQuery('limit', '201') },
  'bad-status': { change: withQuery('status', 'removed') },
  'bad-cursor': { change: withQuery('after', '1') },
  'bad-before': { change: withQuery('before', '1') },
  'bad-force': { change: withQuery('force', 'yes') },
  'bad-since': { change: withQuery('since', '2027-01-15') },
  'unknown-parameter': { change: withQuery('page', '2') },
  'not-json': { change: (sent) => ({ ...sent, body: '{' }) },
  'bad-idempotency-key': { change: withHeaders({ 'Idempotency-Key': 'x'.repeat(256) }) },
  'wrong-value': { change: withBody((body) => Object.assign(body, { name: ' ' })) },
  'wrong-type': { change: withBody((body) => Object.assign(body, { suites: 'store' })) },
  'unknown-field': { change: withBody((body) => Object.assign(body, { colour: 'blue' })) },
  'unknown-suite': { change: withBody((body) => Object.assign(body, { suites: ['nowhere'] })) },
  'nothing-to-change': { change: (sent) => ({ ...sent, body: '{}' }) },
  'wrong-overlap': { change: withBody((body) => Object.assign(body, { overlap_seconds: 31_536_001 })) },
  'key-reused': {
    before: withKey,
    change: (sent) =>
      withKey(withBody((body) => Object.assign(body, 'name' in body ? { name: 'A' } : { overlap_seconds: 1 }))(sent)),
  },
  'registerApplication taken-id': { change: withBody((body) => Object.assign(body, { client_id: 'store' })) },
  'registerSuite taken-id': { change: withBody((body) => Object.assign(body, { id: 'store' })) },
  'no-such-application': { change: withTarget(/(applications\/)[^/?]+/, '$1nobody') },
  'no-such-suite': { change: withTarget(/(suites\/)[^/?]+/, '$1nowhere') },
  'no-such-operator': { change: withTarget(/(operators\/)[^/?]+/, '$1nobody') },
  'no-such-secret': { change: withTarget(/(secrets\/)\d+/, '$199') },
  'no-such-key': { change: withTarget(/(keys\/)\d+/, '$199') },
  'no-such-session': { change: withTarget(/(sessions\/)\d+/, '$199') },
  'nothing-known': { change: withTarget(/(applications\/)[^/?]+/, '$1nobody') },
  'revokeApplicationSecret last-secret': { before: (sent) => sent, change: withTarget(/(secrets\/)\d+/, '$1' + '5') },
  'revokeSuiteSecret last-secret': { before: (sent) => sent, change: withTarget(/(secrets\/)\d+/, '$1' + '4') },
  viewer: { as: 'viewer' },
  'no-key': { change: without('Authorization') },
  'not-an-admin-key': { change: withHeaders({ Authorization: 'Bearer otsa_x' }) },
  'method-not-allowed': { change: (sent) => ({ ...sent, method: 'OPTIONS', body: '' }) },
  'too-slow': { change: (sent) => ({ ...sent, raw: { headers: 'X-Slow:', open: true } }), trouble: 'no patience' },
  'too-large': { change: (sent) => ({ ...sent, body: JSON.stringify({ name: 'x'.repeat(65 * 1024) }) }) },
  'path-too-long': {
    change: withTarget(/(applications|suites|operators)\/[^/?]+/, `$1/${'x'.repeat(1025)}`),
  },
  'other-type': { change: withHeaders({ 'Content-Type': 'text/plain' }) },
  'another-host': { change: withHeaders({ Host: 'rebound.example' }) },
  'headers-too-large': { change: withHeaders({ 'X-Large': 'x'.repeat(17 * 1024) }) },
  'not-HTTP': { change: (sent) => ({ ...sent, raw: { headers: 'no header\r\n\r\n' } }) },
  'unexpected-error': { trouble: 'store closed' },
  'store-unavailable': { trouble: 'store gone' },
}
