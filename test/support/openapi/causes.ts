import type { DocumentedAnswer, Operation } from '../../../lab/reference/description.ts'
import { type Cause, EVERYWHERE, endingIn, unchanged, withHeaders, withoutHeader, withTarget } from './changes.ts'
import type { Sent } from './exchange.ts'
import { EXAMPLES } from './world.ts'

const FORM = 'application/x-www-form-urlencoded'

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

const withForm = (change: (form: URLSearchParams, field: string) => void) => (sent: Sent, answer: DocumentedAnswer) => {
  const form = new URLSearchParams(sent.body)
  change(form, fieldOf(answer))
  return { ...sent, body: form.toString() }
}
const withToken = (token: string) => withForm((form) => form.set('token', token))

/** The field that the example of a refusal names: `The field token is empty`. */
function fieldOf({ name, response }: DocumentedAnswer): string {
  const value = response.content?.['application/json']?.examples[String(name)]?.value as Record<string, string>
  return /^The field (\w+) /.exec(String(value?.error_description))?.[1] ?? ''
}

const wrongSecret = withForm((form) => form.set('client_secret', 'wrong'))

/** By the name of the example, or by it and the operation where that differs. What is not here is the usual request's. */
export const CAUSES: Record<string, Cause> = {
  ...EVERYWHERE,
  inactive: { change: withToken('unknown') },
  'query-in-the-address': { change: withTarget(/$/, '?') },
  'fragment-in-the-address': { change: withTarget(/$/, '#a') },
  'no-such-endpoint': { change: withTarget(/$/, '/x') },
  'no-such-suite': { change: withTarget(/$/, 's') },
  'request-malformed': { change: withTarget(EXAMPLES.suite, '%zz') },
  'method-not-allowed': { change: (sent) => ({ ...sent, method: sent.method === 'POST' ? 'PUT' : 'DELETE' }) },
  'not-a-form': { change: withHeaders({ 'Content-Type': 'application/json' }) },
  'credentials-in-a-header': { change: withHeaders({ Authorization: 'Basic YTpi' }) },
  'credentials-given-twice': { change: wrongSecret },
  'field-missing': { change: withForm((form, field) => form.delete(field)) },
  'field-empty': { change: withForm((form, field) => form.set(field, '')) },
  'field-repeated': { change: withForm((form, field) => form.append(field, 'again')) },
  'unsupported-grant-type': { change: withForm((form) => form.set('grant_type', 'password')) },
  'unknown-resource': { change: withForm((form) => form.set('resource', 'https://nowhere.example')) },
  'resource-not-approved': { change: withForm((form) => form.set('resource', 'https://mcp.example/mcp')) },
  'Authorization-header-malformed': { change: withHeaders({ Authorization: 'Bearer two words' }) },
  'introspectToken Authorization-header-malformed': { change: withHeaders({ Authorization: 'Basic YTpi=' }) },
  'Authorization-header-repeated': { change: withHeaders({ Authorization: ['Bearer a', 'Bearer b'] }) },
  'Host-header-missing': { change: withoutHeader('Host') },
  'body-too-large': { change: withForm((form) => form.set('large', 'x'.repeat(9 * 1024))) },
  'request-too-slow': { trouble: 'no patience', change: endingIn('X-Slow:', true) },
  'not-authenticated': { change: wrongSecret },
  'introspectToken not-authenticated': { change: withHeaders({ Authorization: 'Basic YTpi' }) },
  'no-credentials': { change: withoutHeader('Authorization') },
  'no-token': { change: withoutHeader('Authorization') },
  'invalid-token': { change: withHeaders({ Authorization: 'Bearer unknown' }) },
  'not-approved': { change: withTarget(EXAMPLES.suite, 'other') },
  'too-many-failures': { change: wrongSecret, before: wrongSecret, times: 10 },
  'token-quota-exceeded': { trouble: 'quota exceeded', before: unchanged },
  'too-many-imported-secrets-to-check': { trouble: 'too many checks' },
  'too-many-federated-tokens-to-check': { trouble: 'too many JWTs' },
}
