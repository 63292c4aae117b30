import { CLIENT_ID, problem, wrongField } from './admin-components.ts'
import { type Examples, lines, refs } from './document.ts'

/** What the code does not say of an operation: words and examples. */
export interface OperationText {
  operationId: string
  summary: string
  description: string
  /** Examples of the body. */
  request?: Examples
  /** What the answer of success is, and examples of it. */
  answer: string
  examples?: Examples
  /** Whether the answer names the address of what was made. */
  hasLocation?: boolean
  /** The cases of 404, if they are not those of the parameters in the path. */
  notFound?: Examples
  /** The cases of 409 and 422. */
  conflict?: Examples
  wrong?: Examples
  /** Whether it changes something also in a store that has moved to another database. */
  whileMoved?: boolean
  /** Parameters with a description of their own: its name in PARAMETERS. */
  own?: Record<string, string>
}

const EIGHT = '2027-01-15T08:00:00.000Z'
const NINE = '2027-01-15T09:00:00.000Z'
const CLIENT_SECRET = 'EXAMPLEexampleEXAMPLEexampleEXAMPLEexamp'

/** One example. */
const one = (name: string, summary: string, value: unknown): Examples => ({ [name]: { summary, value } })

const known = (...names: string[]) => refs('examples', names)

const secret = (id: number, createdAt: string, endsAt: string | null) => ({
  id,
  origin: 'generated',
  federated: null,
  state: 'active',
  created_at: createdAt,
  ends_at: endsAt,
  revoked_at: null,
  last_used_at: null,
  last_used_from: null,
})

/** The ids of the two secrets of each: the first one ends soon. */
const secretsOf = (first: number, second: number) => [
  secret(first, EIGHT, '2027-01-16T09:00:00.000Z'),
  secret(second, NINE, null),
]

const ANNOTATIONS = {
  labels: { environment: 'production' },
  note: 'Call +49 30 1234567 before you suspend it.',
  managed_by: '',
}

const NO_ANNOTATIONS = { labels: {}, note: '', managed_by: '' }

const APPROVED = {
  client_id: CLIENT_ID,
  name: 'Demo application',
  developer_email: 'developer@demo.example',
  status: 'active',
  suites: ['store'],
  created_at: EIGHT,
  tokens_valid_from: null,
  ...ANNOTATIONS,
  quota: 3600,
  source_addresses: ['192.0.2.0/24'],
  public_labels: ['environment'],
  report_only: ['source_addresses'],
  applied_at: null,
  federated: [],
}

const USE = { last_token_at: '2027-01-15T09:00:01.000Z' }

const APPLICATION = { ...APPROVED, ...USE, secrets: secretsOf(3, 5) }

const SUITE = { id: 'store', name: 'Store API', created_at: EIGHT, ...ANNOTATIONS, applied_at: null, url: '' }

const adminKey = (id: number, lastUsedAt: string | null) => ({
  id,
  state: 'active',
  created_at: EIGHT,
  ends_at: '2027-02-14T08:00:00.000Z',
  revoked_at: null,
  last_used_at: lastUsedAt,
})

const ANNA = {
  name: 'anna',
  role: 'admin',
  email: null,
  created_at: EIGHT,
  keys: [adminKey(1, '2027-01-15T09:02:00.000Z')],
  sessions: [
    {
      id: 1,
      created_at: '2027-01-15T09:01:00.000Z',
      remote_address: '192.0.2.7',
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      last_seen_at: '2027-01-15T09:01:00.000Z',
      ends_at: '2027-01-15T09:16:00.000Z',
    },
  ],
}

const VIKTOR = {
  name: 'viktor',
  role: 'viewer',
  email: null,
  created_at: EIGHT,
  keys: [adminKey(2, null)],
  sessions: [],
}

const TRAFFIC = {
  tokens: 101,
  active_checks: 1999,
  inactive_checks: 1,
  refusals: 1,
  failures: 1,
  token_latency: { p50_seconds: 0.002, p99_seconds: 0.009 },
  check_latency: { p50_seconds: 0.0004, p99_seconds: 0.0021 },
}

const NO_TRAFFIC = {
  tokens: 0,
  active_checks: 0,
  inactive_checks: 0,
  refusals: 0,
  failures: 0,
  token_latency: null,
  check_latency: null,
}

const LAST_SECRET = 'cannot authenticate without it. Rotate first. To revoke it anyway, use force=true.'

const lastSecret = (id: number, owner: string): Examples => ({
  'last-secret': problem(
    'It is the last active secret',
    'last_secret',
    `The secret ${id} is the last active one of ${owner}, and ${owner} ${LAST_SECRET}`,
  ),
})

const NOTHING_TO_CHANGE: Examples = {
  'nothing-to-change': problem('No field at all', 'invalid', 'The body must have at least one field.', [
    { detail: 'must have at least one field', pointer: '#' },
  ]),
}

const OF_ALL_NODES = 'Of all nodes together. Points begin at the full five minutes, hours or days of the clock in UTC.'

/** An hour in which something happened in the last minutes only. */
const usage = (counts: Record<'tokens' | 'checks' | 'refusals', number>) => ({
  period: '1h',
  step_seconds: 300,
  ...counts,
  points: Array.from({ length: 12 }, (_, n) => ({
    since: new Date(Date.parse(NINE) + (n - 11) * 300_000).toISOString(),
    ...(n === 11 ? counts : { tokens: 0, checks: 0, refusals: 0 }),
  })),
})

const APPLICATIONS: Record<string, OperationText> = {
  'GET /admin/v1/applications': {
    operationId: 'listApplications',
    summary: 'List and search applications',
    description:
      'Newest first. `search` looks in client ids, names, developer emails, labels (`key=value`) and notes, and ignores case.',
    own: { suite: 'approved_suite' },
    answer: 'One page of the applications.',
    examples: one('page', 'The only page', {
      applications: [{ ...APPROVED, tokens_this_hour: 3, tokens_last_hour: 0, ...USE }],
      next: null,
      total: 1,
    }),
  },
  'POST /admin/v1/applications': {
    operationId: 'registerApplication',
    summary: 'Register an application',
    description: lines(
      'The server makes the secret, and the client id unless you give a `client_id`. Only this answer contains',
      'the secret.',
    ),
    request: one('registration', 'Approved for one suite', {
      name: 'Störe front',
      developer_email: 'dev@partner.example',
      client_id: 'partner-7',
      suites: ['store'],
      labels: { environment: 'production' },
    }),
    answer: 'The application with its secret.',
    hasLocation: true,
    examples: one('registered', 'A new application', {
      client_id: 'partner-7',
      client_secret: CLIENT_SECRET,
      name: 'Störe front',
      developer_email: 'dev@partner.example',
      status: 'active',
      suites: ['store'],
      labels: { environment: 'production' },
      note: '',
      managed_by: '',
      quota: null,
      source_addresses: [],
      public_labels: [],
      report_only: [],
    }),
    conflict: known('taken-id'),
    wrong: {
      ...known('wrong-value'),
      'wrong-type': wrongField('A value of the wrong type', 'suites', 'must be a list, or "all"'),
      ...known('unknown-field', 'unknown-suite', 'key-reused'),
    },
  },
  'GET /admin/v1/applications/{client_id}': {
    operationId: 'showApplication',
    summary: 'Show an application',
    description: 'With its secrets, but not the secret values.',
    answer: 'The application.',
    examples: one('application', 'An application with two secrets, one of which ends soon', APPLICATION),
  },
  'PATCH /admin/v1/applications/{client_id}': {
    operationId: 'changeApplication',
    summary: 'Change fields of an application',
    description: 'Fields that you leave out stay as they are. `labels` replaces all labels, and a list the whole list.',
    request: one('changes', 'A new name', { name: 'Demo shop' }),
    answer: 'The application as it is now.',
    examples: one('changed', 'It has a new name', { ...APPLICATION, name: 'Demo shop' }),
    wrong: { ...known('wrong-value', 'unknown-field'), ...NOTHING_TO_CHANGE },
  },
  'PUT /admin/v1/applications/{client_id}': {
    operationId: 'setApplication',
    summary: 'Set an application to these values',
    description: lines(
      'All in one transaction, with one audit event, `application updated`. If nothing differs, nothing is changed. `labels`,',
      '`note`, `managed_by`, `quota`, `source_addresses`, `public_labels`, `report_only` and `federated` stay as they are if you leave them out.',
      'It does not register an application: clients and proxies may repeat a PUT, and the secret of the first answer would be lost.',
    ),
    request: one('settings', 'Another name, suspended, for one suite', {
      name: 'Demo shop',
      developer_email: 'developer@demo.example',
      status: 'suspended',
      suites: ['reports'],
      labels: { environment: 'test' },
    }),
    answer: 'What changed, or would change.',
    examples: one('difference', 'Its name, its status, its suites and its labels', {
      changed: ['name', 'status', 'suites', 'labels'],
      before: { name: 'Demo application', status: 'active', suites: ['store'], labels: { environment: 'production' } },
      after: { name: 'Demo shop', status: 'suspended', suites: ['reports'], labels: { environment: 'test' } },
    }),
    wrong: {
      ...known('wrong-value'),
      'wrong-status': wrongField('Another status', 'status', 'must be active or suspended'),
      ...known('unknown-field', 'unknown-suite'),
    },
  },
  'DELETE /admin/v1/applications/{client_id}': {
    operationId: 'removeApplication',
    summary: 'Remove an application',
    description: lines(
      'Deletes it with its secrets and tokens. This cannot be undone. Its tokens stay invalid if the client id is',
      'registered again.',
    ),
    answer: 'It was removed.',
  },
  'GET /admin/v1/applications/{client_id}/diagnosis': {
    operationId: 'explainApplication',
    summary: 'Why is this client refused?',
    description: lines(
      'What is most likely wrong, what to do about it, and the last refusals. You can also ask about the id of a',
      'suite, or an unknown client id, which may be mistyped.',
    ),
    answer: 'The diagnosis.',
    examples: one('explanation', 'Nothing is wrong', {
      client_id: CLIENT_ID,
      diagnosis:
        'The last token was issued 2 min ago, and nothing was refused.\n' +
        'If the partner still sees errors, its requests may not reach this server (DNS, TLS, a gateway in between), ' +
        'may be answered with 503 ("token-server doctor" says why), or may have no client id that can be read, ' +
        'such as JSON instead of a form: search the log by address and time.',
      refusals_known_until: '2027-01-15T09:01:55.000Z',
      tokens_known_until: '2027-01-15T09:01:00.000Z',
      application: { ...APPLICATION, tokens_this_hour: 3, tokens_last_hour: 0, tokens_refused_this_hour: 0 },
      suite: null,
      refusals: [],
      similar_refusals: [],
      similar_applications: [],
    }),
    notFound: {
      'nothing-known': problem(
        'No application has this client id, and no similar one was refused',
        'not_found',
        'No application has the client id nobody, and no similar client id was refused. ' +
          'Look for the application in GET /admin/v1/applications.',
      ),
    },
  },
  'GET /admin/v1/applications/{client_id}/usage': {
    operationId: 'showApplicationUsage',
    summary: 'Tokens, checks and refusals of an application',
    description: `Of the last hour by five minutes, of the last day and the last week by hours, of the last 30 days by days. ${OF_ALL_NODES}`,
    answer: 'What it did.',
    examples: one('hour', 'Three tokens in the last minutes', usage({ tokens: 3, checks: 2, refusals: 1 })),
  },
  'PUT /admin/v1/applications/{client_id}/suspension': {
    operationId: 'suspendApplication',
    summary: 'Suspend an application',
    description: lines(
      'From the next request on, it gets no tokens, and its tokens are refused. If it is suspended already, nothing',
      'changes.',
    ),
    answer: 'It is suspended now.',
  },
  'DELETE /admin/v1/applications/{client_id}/suspension': {
    operationId: 'resumeApplication',
    summary: 'Resume an application',
    description: lines(
      'It gets tokens again, and its tokens are valid until they expire. If it is active already, nothing changes.',
    ),
    answer: 'It is active now.',
  },
  'DELETE /admin/v1/applications/{client_id}/tokens': {
    operationId: 'revokeTokens',
    summary: 'Revoke all tokens',
    description: 'Every token that was issued to the application until now. It can get new ones.',
    answer: 'They were revoked.',
  },
  'PUT /admin/v1/applications/{client_id}/suites/{suite_id}': {
    operationId: 'approveApplication',
    summary: 'Approve an application for a suite',
    description: 'From the next check on, its tokens are valid there. If it is approved already, nothing changes.',
    answer: 'It is approved now.',
  },
  'DELETE /admin/v1/applications/{client_id}/suites/{suite_id}': {
    operationId: 'withdrawApproval',
    summary: 'Withdraw an approval',
    description: 'From the next check on, its tokens are not valid there. If it is not approved, nothing changes.',
    answer: 'It is not approved any more.',
  },
}

/** The operations on the secrets of an application or of a suite, which are the same. */
function secretsOperations(
  path: string,
  [Owner, owner]: [string, string],
  id: string,
  secrets: [number, number],
): Record<string, OperationText> {
  return {
    [`GET ${path}`]: {
      operationId: `list${Owner}Secrets`,
      summary: `List the secrets of ${owner}`,
      description:
        'Oldest first. A secret is kept for at least 30 days after its end, until its owner’s next rotation.',
      answer: 'All secrets.',
      examples: one('secrets', 'Two secrets, one of which ends soon', { secrets: secretsOf(...secrets) }),
    },
    [`POST ${path}`]: {
      operationId: `rotate${Owner}Secret`,
      summary: `Make a new secret for ${owner}`,
      description: lines(
        'The other secrets end after the overlap. Only this answer contains the secret. The body is optional.',
      ),
      request: one('hour', 'An overlap of one hour', { overlap_seconds: 3600 }),
      answer: 'The new secret.',
      examples: one('rotated', 'The other secrets end after an hour', {
        client_id: id,
        client_secret: CLIENT_SECRET,
        others_end_at: '2027-01-15T10:02:00.000Z',
      }),
      wrong: known('wrong-overlap', 'unknown-field', 'key-reused'),
    },
    [`DELETE ${path}/{id}`]: {
      operationId: `revoke${Owner}Secret`,
      summary: `Revoke a secret of ${owner}`,
      description: 'It is refused from the next request on. The last active secret is revoked only with `force`.',
      answer: 'It was revoked.',
      conflict: lastSecret(secrets[1], id),
    },
  }
}

const RULE = { issuer: 'https://token.actions.githubusercontent.com', subject: 'repo:acme/shop:ref:refs/heads/main' }

const FEDERATED: Record<string, OperationText> = {
  'POST /admin/v1/applications/{client_id}/federated': {
    operationId: 'addFederatedCredential',
    summary: 'Add a federated credential to an application',
    description: lines(
      'From the next request on, JWTs with these claims are accepted where its secret stood. The secrets stay valid. It is listed',
      'and revoked with them.',
    ),
    request: one('rule', 'A branch of a repository at GitHub', RULE),
    answer: 'Its id.',
    examples: one('added', 'It is the next of the secrets', { id: 6 }),
    conflict: {
      'same-credential': problem(
        'The application has the same one',
        'refused',
        `${CLIENT_ID} already has this federated credential: 6.`,
      ),
    },
    wrong: {
      'wrong-issuer': problem(
        'The issuer is no URL',
        'invalid',
        'The issuer must be an https URL without a user, a query or a fragment.',
        [{ detail: 'The issuer must be an https URL without a user, a query or a fragment', pointer: '#/issuer' }],
      ),
      ...known('unknown-field', 'key-reused'),
    },
  },
  'POST /admin/v1/applications/{client_id}/federated/test': {
    operationId: 'testFederatedToken',
    summary: 'Would this JWT be accepted?',
    description:
      'Does what a token request with this JWT does, and says how far it comes. No token is issued, and nothing of the JWT is kept.',
    request: one('token', 'A JWT', { token: 'eyJhbGciOiJFUzI1NiJ9.e30.AAAA' }),
    whileMoved: true,
    answer: 'What was checked.',
    examples: one('refused', 'It is refused', {
      accepted: false,
      steps: [{ ok: false, text: 'The application has no federated credential.' }],
    }),
    wrong: known('unknown-field'),
  },
}

const SUITES: Record<string, OperationText> = {
  'GET /admin/v1/suites': {
    operationId: 'listSuites',
    summary: 'List suites',
    description: 'Oldest first.',
    answer: 'One page of the suites.',
    examples: one('page', 'The only page', { suites: [SUITE], next: null }),
  },
  'POST /admin/v1/suites': {
    operationId: 'registerSuite',
    summary: 'Register a suite',
    description: 'No application is approved for it yet. Only this answer contains the secret.',
    request: one('registration', 'A suite', { id: 'orders', name: 'Orders API', url: 'https://api.example/orders' }),
    answer: 'The suite with its secret.',
    hasLocation: true,
    examples: one('registered', 'A new suite', {
      id: 'orders',
      client_id: 'orders',
      client_secret: CLIENT_SECRET,
      name: 'Orders API',
      url: 'https://api.example/orders',
      ...NO_ANNOTATIONS,
    }),
    conflict: known('taken-id'),
    wrong: known('wrong-value', 'unknown-field', 'key-reused'),
  },
  'GET /admin/v1/suites/{suite_id}': {
    operationId: 'showSuite',
    summary: 'Show a suite',
    description: 'With its secrets, but not the secret values.',
    answer: 'The suite.',
    examples: one('suite', 'A suite with two secrets, one of which ends soon', {
      ...SUITE,
      secrets: secretsOf(1, 4),
    }),
  },
  'PATCH /admin/v1/suites/{suite_id}': {
    operationId: 'changeSuite',
    summary: 'Change the name, the URL, the labels or the note of a suite, or what manages it',
    description: 'Fields that you leave out stay as they are. `labels` replaces all labels. The id cannot be changed.',
    request: one('changes', 'A new name', { name: 'Shop API' }),
    answer: 'The suite as it is now.',
    examples: one('changed', 'It has a new name', { ...SUITE, name: 'Shop API', secrets: secretsOf(1, 4) }),
    wrong: { ...known('wrong-value', 'unknown-field'), ...NOTHING_TO_CHANGE },
  },
  'DELETE /admin/v1/suites/{suite_id}': {
    operationId: 'removeSuite',
    summary: 'Remove a suite',
    description: 'Deletes it with its secrets and approvals. This cannot be undone.',
    answer: 'It was removed.',
  },
  'GET /admin/v1/suites/{suite_id}/usage': {
    operationId: 'showSuiteUsage',
    summary: 'Checks and refusals of a suite',
    description: `Of the last hour by five minutes, of the last day and the last week by hours, of the last 30 days by days. ${OF_ALL_NODES}`,
    answer: 'What was asked at it.',
    examples: one('hour', 'Two checks in the last minutes', usage({ tokens: 0, checks: 2, refusals: 1 })),
  },
  'GET /admin/v1/suites/{suite_id}/applications': {
    operationId: 'listApprovedApplications',
    summary: 'List the applications that are approved for a suite',
    description: 'Oldest first.',
    answer: 'One page of these applications.',
    examples: one('page', 'The only page', { applications: [APPROVED], next: null }),
  },
  'POST /admin/v1/suites/{suite_id}/approvals': {
    operationId: 'changeApprovals',
    summary: 'Approve many applications for a suite',
    description: lines(
      'Or withdraw their approvals: at most 500 in one call. All are changed in one transaction, or none: if one client id is',
      'unknown, the answer names it and nothing is changed. Each application whose approval changes has an audit event.',
    ),
    request: {
      ...one('withdrawals', 'An application whose approval is withdrawn', { client_ids: [CLIENT_ID], approved: false }),
      ...one('approvals', 'An application to approve', { client_ids: [CLIENT_ID], approved: true }),
    },
    answer: 'The applications whose approval changed.',
    examples: one('changed', 'It was approved before', { client_ids: [CLIENT_ID] }),
    wrong: {
      ...known('unknown-field'),
      'unknown-client-id': problem(
        'An application that does not exist',
        'invalid',
        'There is no application with the client id nobody.',
        [{ detail: 'There is no application with the client id nobody', pointer: '#/client_ids' }],
      ),
      'wrong-approved': wrongField('A value of the wrong type', 'approved', 'must be true or false'),
    },
  },
}

const OPERATORS: Record<string, OperationText> = {
  'GET /admin/v1/operators': {
    operationId: 'listOperators',
    summary: 'List operators',
    description: 'With their keys and sessions, but not the key values or cookies.',
    answer: 'All operators.',
    examples: one('operators', 'A person and a program', { operators: [ANNA, VIKTOR] }),
  },
  'GET /admin/v1/operators/{name}': {
    operationId: 'showOperator',
    summary: 'Show an operator',
    description: 'With keys and sessions, but not the key values or cookies.',
    answer: 'The operator.',
    examples: one('operator', 'A person', ANNA),
  },
  'DELETE /admin/v1/operators/{name}': {
    operationId: 'removeOperator',
    summary: 'Remove an operator',
    description: lines(
      "From the next request on, the operator's keys, sessions and login links are refused. Operators can remove",
      'themselves.',
    ),
    answer: 'The operator was removed.',
  },
  'DELETE /admin/v1/operators/{name}/keys/{id}': {
    operationId: 'revokeAdminKey',
    summary: 'Revoke an admin key',
    description: 'The key is refused from the next request on. If it was already revoked, nothing changes.',
    answer: 'It was revoked.',
  },
  'DELETE /admin/v1/operators/{name}/sessions/{id}': {
    operationId: 'endSession',
    summary: 'End a session in the console',
    description: 'It is refused from the next request on.',
    answer: 'It was ended.',
    whileMoved: true,
  },
}

const HISTORY: Record<string, OperationText> = {
  'GET /admin/v1/audit-events': {
    operationId: 'listAuditEvents',
    summary: 'List audit events',
    description: lines(
      'Newest first. If you give several filters, all must match. With `action` or `search`, a page can have fewer',
      'entries than `limit`, even none, although `next` is not null.',
    ),
    own: {
      limit: 'audit_limit',
      subject: 'audit_subject',
      search: 'audit_search',
      request_id: 'audit_request_id',
    },
    answer: 'One page of the events.',
    examples: one('page', 'The last change of one application', {
      audit_events: [
        {
          id: 12,
          at: '2027-01-15T09:01:00.000Z',
          actor: 'anna',
          actor_email: null,
          origin: 'API',
          remote_address: '192.0.2.7',
          request_id: '6f1f4a7e-0a52-4f2c-9a36-4c7f0c1d2e3f',
          action: 'application updated',
          subject: { kind: 'application', id: CLIENT_ID },
          before: { name: 'Demo' },
          after: { name: 'Demo application' },
        },
      ],
      next: 'MTI',
    }),
  },
  'GET /admin/v1/refusals': {
    operationId: 'listRefusals',
    summary: 'List refused requests',
    description: lines(
      'Requests and token checks that were refused, or failed with 5xx, on all nodes, newest first. They show up within',
      'five seconds. The last 5,000 of registered clients, and 5,000 of other callers, are kept, for 30 days at most. Of a flood',
      'only some are listed.',
    ),
    own: { client_id: 'client_id_filter', suite: 'suite_filter', search: 'refusal_search', limit: 'audit_limit' },
    answer: 'One page of these requests.',
    examples: one('page', 'The request that a partner asks about', {
      refusals: [
        {
          at: '2027-01-15T09:01:00.000Z',
          request_id: '3ed9e1cb5f4d1ee3cb00',
          reason: 'wrong secret',
          endpoint: '/v1/oauth/accesstoken',
          client_id: CLIENT_ID,
          kind: 'application',
          name: 'Demo application',
          suite: null,
          remote_address: '192.0.2.7',
          detail: null,
        },
      ],
      next: null,
    }),
  },
  'GET /admin/v1/statistics': {
    operationId: 'showStatistics',
    summary: 'Show statistics',
    description: lines(
      'The figures of the node that answers. With several nodes on PostgreSQL, `nodes` has a few figures of each.',
    ),
    answer: 'The current figures.',
    examples: one('statistics', 'A server that just started', {
      at: EIGHT,
      started_at: '2027-01-15T07:59:50.000Z',
      version: '1.2.3',
      last_minute: TRAFFIC,
      last_hour: NO_TRAFFIC,
      minutes: [
        { ended_at: '2027-01-15T07:59:00.000Z', traffic: null },
        { ended_at: EIGHT, traffic: NO_TRAFFIC },
      ],
      refusals: [],
      outages: [],
      live_tokens: { count: 0, is_exact: true },
      ending_secrets: { in_a_day: 0, in_a_week: 0, next: [] },
      certificates: [],
      issuers: [],
      workers: { expected: 1, serving: 1, each: [] },
      nodes: [],
      store: {
        ...{ kind: 'sqlite', is_up: true, can_write: true, can_check: true, problem: null },
        ...{ database_bytes: 4096, log_bytes: 0, last_backup_at: null },
        audit_head: null,
      },
    }),
  },
}

const { created_at: _, managed_by: __, applied_at: ___, ...EXPORTED_SUITE } = SUITE
const { created_at, tokens_valid_from, managed_by, applied_at, ...EXPORTED_APPLICATION } = APPROVED

const EXPORT: Record<string, OperationText> = {
  'GET /admin/v1/export': {
    operationId: 'exportAll',
    summary: 'Export applications and suites',
    description: lines(
      'All in one answer, which is a file for `token-server apply`: this server needs no change by it. An empty server gets the',
      'same applications and suites, with other secrets; applications with federated credentials get none. It has no secrets, and no',
      'times but the ends of federated credentials.',
    ),
    answer: 'The file.',
    examples: one('file', 'A suite and an application', {
      suites: [EXPORTED_SUITE],
      applications: [EXPORTED_APPLICATION],
    }),
  },
}

/** Every operation of the API, by its method and path. */
export const OPERATIONS: Record<string, OperationText> = {
  ...APPLICATIONS,
  ...secretsOperations(
    '/admin/v1/applications/{client_id}/secrets',
    ['Application', 'an application'],
    CLIENT_ID,
    [3, 5],
  ),
  ...FEDERATED,
  ...secretsOperations('/admin/v1/suites/{suite_id}/secrets', ['Suite', 'a suite'], 'store', [1, 4]),
  ...SUITES,
  ...EXPORT,
  ...OPERATORS,
  ...HISTORY,
}
