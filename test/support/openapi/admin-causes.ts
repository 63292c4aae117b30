import type { Operation } from '../../../lab/reference/description.ts'
import { type Cause, EVERYWHERE, endingIn, unchanged, withHeaders, withoutHeader, withTarget } from './changes.ts'
import type { Sent } from './exchange.ts'

/** The request for the first documented response of an operation, built from its examples. */
export function usualRequest(
  { method, path, parameters, requestBody }: Operation,
  { keys }: { keys: { admin: string; viewer: string } },
  { as = 'admin' }: Cause,
): Sent {
  const query = new URLSearchParams()
  let target = path
  for (const { in: place, name, example } of parameters.filter(({ example }) => example !== undefined)) {
    if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(String(example)))
    else if (place === 'query') query.set(name, String(example))
  }
  const [example] = Object.values(requestBody?.content?.['application/json']?.examples ?? {})
  const headers: Sent['headers'] = { Host: 'localhost', Authorization: `Bearer ${keys[as]}` }
  if (example) headers['Content-Type'] = 'application/json'
  if (query.size > 0) target += `?${query}`
  return { method, target, headers, body: example ? JSON.stringify(example.value) : '' }
}

const withQuery = (name: string, value: string) => (sent: Sent) => {
  const [path, query] = sent.target.split('?')
  const parameters = new URLSearchParams(query)
  parameters.set(name, value)
  return { ...sent, target: `${path}?${parameters}` }
}
const withBody = (fields: Record<string, unknown>) => (sent: Sent) => ({
  ...sent,
  body: JSON.stringify({ ...JSON.parse(sent.body as string), ...fields }),
})
const withKey = withHeaders({ 'Idempotency-Key': 'a' })

/** By example name, or by operation and example name. Other examples result from the usual request. */
export const CAUSES: Record<string, Cause> = {
  ...EVERYWHERE,
  'bad-limit': { change: withQuery('limit', '201') },
  'bad-status': { change: withQuery('status', 'removed') },
  'bad-cursor': { change: withQuery('after', '1') },
  'bad-before': { change: withQuery('before', '1') },
  'bad-force': { change: withQuery('force', 'yes') },
  'bad-dry-run': { change: withQuery('dry_run', 'yes') },
  'another-version': { change: withHeaders({ 'If-Match': '"another"' }) },
  'wrong-status': { change: withBody({ status: 'removed' }) },
  'bad-since': { change: withQuery('since', '2027-01-15') },
  'bad-period': { change: withQuery('period', '2d') },
  'bad-until': { change: withQuery('until', '2027-01-15') },
  'bad-action': { change: withQuery('action', 'coffee made') },
  'unknown-parameter': { change: withQuery('page', '2') },
  'not-json': { change: (sent) => ({ ...sent, body: '{' }) },
  'bad-idempotency-key': { change: withHeaders({ 'Idempotency-Key': 'x'.repeat(256) }) },
  'wrong-value': { change: withBody({ name: ' ' }) },
  'wrong-type': { change: withBody({ suites: 'store' }) },
  'unknown-field': { change: withBody({ colour: 'blue' }) },
  'unknown-suite': { change: withBody({ suites: ['nowhere'] }) },
  'unknown-client-id': { change: withBody({ client_ids: ['nobody'] }) },
  'wrong-approved': { change: withBody({ approved: 'yes' }) },
  'nothing-to-change': { change: (sent) => ({ ...sent, body: '{}' }) },
  'wrong-issuer': { change: withBody({ issuer: 'github' }) },
  'addFederatedCredential same-credential': { before: unchanged },
  'wrong-overlap': { change: withBody({ overlap_seconds: 31_536_001 }) },
  'key-reused': {
    before: withKey,
    change: (sent) => {
      const isRule = sent.body?.includes('"issuer"')
      const other = sent.body?.includes('"name"') ? { name: 'A' } : isRule ? { subject: 'x' } : { overlap_seconds: 1 }
      return withKey(withBody(other)(sent))
    },
  },
  'registerApplication taken-id': { change: withBody({ client_id: 'store' }) },
  'registerSuite taken-id': { change: withBody({ id: 'store' }) },
  'no-such-application': { change: withTarget(/(applications\/)[^/?]+/, '$1nobody') },
  'no-such-suite': { change: withTarget(/(suites\/)[^/?]+/, '$1nowhere') },
  'no-such-operator': { change: withTarget(/(operators\/)[^/?]+/, '$1nobody') },
  'no-such-secret': { change: withTarget(/(secrets\/)\d+/, '$199') },
  'no-such-key': { change: withTarget(/(keys\/)\d+/, '$199') },
  'no-such-session': { change: withTarget(/(sessions\/)\d+/, '$199') },
  'nothing-known': { change: withTarget(/(applications\/)[^/?]+/, '$1nobody') },
  'revokeApplicationSecret last-secret': { before: unchanged, change: withTarget(/(secrets\/)\d+/, '$15') },
  'revokeSuiteSecret last-secret': { before: unchanged, change: withTarget(/(secrets\/)\d+/, '$14') },
  'store-moved': { trouble: 'store moved' },
  viewer: { as: 'viewer' },
  'no-key': { change: withoutHeader('Authorization') },
  'not-an-admin-key': { change: withHeaders({ Authorization: 'Bearer otsa_x' }) },
  'method-not-allowed': { change: (sent) => ({ ...sent, method: 'OPTIONS', body: '' }) },
  'too-slow': { change: endingIn('X-Slow:', true), trouble: 'no patience' },
  'too-large': { change: (sent) => ({ ...sent, body: JSON.stringify({ name: 'x'.repeat(65 * 1024) }) }) },
  'path-too-long': { change: withTarget(/(applications|suites|operators)\/[^/?]+/, `$1/${'x'.repeat(1025)}`) },
  'other-type': { change: withHeaders({ 'Content-Type': 'text/plain' }) },
  'another-host': { change: withHeaders({ Host: 'rebound.example' }) },
}
