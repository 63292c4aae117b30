import type { DocumentedAnswer, Operation } from '../../../lab/reference/description.ts'
import type { Sent } from './exchange.ts'
import { EXAMPLES, type Trouble } from './world.ts'

const FORM = 'application/x-www-form-urlencoded'

/** How a case of an answer comes about: how its request differs from the usual one of the operation. */
export interface Cause {
  change?: (sent: Sent, answer: DocumentedAnswer) => Sent
  trouble?: Trouble
  /** How many such requests were sent before. */
  after?: number
}

/** The request that gets the first answer of an operation: from its examples. */
export function usualRequest({ method, path, parameters, security, requestBody }: Operation, example?: string): Sent {
  const target = parameters.reduce((path, { name, example }) => path.replace(`{${name}}`, String(example)), path)
  const examples = requestBody?.content?.[FORM]?.examples ?? {}
  const form = (example === undefined ? Object.values(examples)[0] : examples[example])?.value as
    | Record<string, string>
    | undefined
  const headers: Sent['headers'] = { Host: 'token.example' }
  const [scheme] = Object.keys(security[0] ?? {})
  if (scheme === 'bearer') headers.Authorization = `Bearer ${EXAMPLES.token}`
  if (scheme === 'suite' && form?.client_secret === undefined) {
    headers.Authorization = `Basic ${btoa(`${EXAMPLES.suite}:${EXAMPLES.suiteSecret}`)}`
  }
  if (form) headers['Content-Type'] = FORM
  return { method, target, headers, body: new URLSearchParams(form).toString() }
}

const withHeaders = (headers: Sent['headers']) => (sent: Sent) => ({
  ...sent,
  headers: { ...sent.headers, ...headers },
})
const withTarget = (change: (target: string) => string) => (sent: Sent) => ({ ...sent, target: change(sent.target) })
const withForm = (change: (form: URLSearchParams, field: string) => void) => (sent: Sent, answer: DocumentedAnswer) => {
  const form = new URLSearchParams(sent.body)
  change(form, fieldOf(answer))
  return { ...sent, body: form.toString() }
}
const withToken = (token: string) => withForm((form) => form.set('token', token))
const withoutHeader = (name: string) => (sent: Sent) => {
  const { [name]: _left, ...headers } = sent.headers
  return { ...sent, headers }
}

/** The field that the example of a refusal names: `The field token is empty`. */
function fieldOf({ name, response }: DocumentedAnswer): string {
  const value = response.content?.['application/json']?.examples[String(name)]?.value as Record<string, string>
  return /^The field (\w+) /.exec(String(value?.error_description))?.[1] ?? ''
}

const wrongSecret = withForm((form) => form.set('client_secret', 'wrong'))

/** By the name of the example, or by it and the operation where that differs. What is not here is the usual request's. */
export const CAUSES: Record<string, Cause> = {
  inactive: { change: withToken('unknown') },
  'query-in-the-address': { change: withTarget((target) => `${target}?`) },
  'fragment-in-the-address': { change: withTarget((target) => `${target}#a`) },
  'no-such-endpoint': { change: withTarget((target) => `${target}/x`) },
  'no-such-suite': { change: withTarget((target) => `${target}s`) },
  'request-malformed': { change: withTarget((target) => target.replace(EXAMPLES.suite, '%zz')) },
  'method-not-allowed': { change: (sent) => ({ ...sent, method: sent.method === 'POST' ? 'PUT' : 'DELETE' }) },
  'not-a-form': { change: withHeaders({ 'Content-Type': 'application/json' }) },
  'credentials-in-a-header': { change: withHeaders({ Authorization: 'Basic YTpi' }) },
  'credentials-given-twice': { change: wrongSecret },
  'field-missing': { change: withForm((form, field) => form.delete(field)) },
  'field-empty': { change: withForm((form, field) => form.set(field, '')) },
  'field-repeated': { change: withForm((form, field) => form.append(field, 'again')) },
  'unsupported-grant-type': { change: withForm((form) => form.set('grant_type', 'password')) },
  'Authorization-header-malformed': { change: withHeaders({ Authorization: 'Bearer two words' }) },
  'introspectToken Authorization-header-malformed': { change: withHeaders({ Authorization: 'Basic YTpi=' }) },
  'Authorization-header-repeated': { change: withHeaders({ Authorization: ['Bearer a', 'Bearer b'] }) },
  'Host-header-missing': { change: withoutHeader('Host') },
  'not-HTTP': { change: (sent) => ({ ...sent, raw: { headers: 'no header\r\n\r\n' } }) },
  'headers-too-large': { change: withHeaders({ 'X-Large': 'x'.repeat(17 * 1024) }) },
  'body-too-large': { change: withForm((form) => form.set('large', 'x'.repeat(9 * 1024))) },
  'request-too-slow': {
    trouble: 'impatient',
    change: (sent) => ({ ...sent, raw: { headers: 'X-Slow:', open: true } }),
  },
  'not-authenticated': { change: wrongSecret },
  'introspectToken not-authenticated': { change: withHeaders({ Authorization: 'Basic YTpi' }) },
  'no-credentials': { change: withoutHeader('Authorization') },
  'no-token': { change: withoutHeader('Authorization') },
  'invalid-token': { change: withHeaders({ Authorization: 'Bearer unknown' }) },
  'not-approved': { change: withTarget((target) => target.replace(EXAMPLES.suite, 'other')) },
  'too-many-failures': { change: wrongSecret, after: 10 },
  'token-quota-exceeded': { trouble: 'quota exceeded', after: 1 },
  'too-many-imported-secrets-to-check': { trouble: 'too many checks' },
  'store-unavailable': { trouble: 'store gone' },
  'unexpected-error': { trouble: 'store closed' },
}
