import type { Logger } from 'pino'
import type { Event, Measurement, Observer } from '../domain/events.ts'

type Type = Exclude<Event, Measurement>['type']
type EventOf<T extends Type, E = Event> = E extends { type: infer Types } ? (T extends Types ? E : never) : never
type FieldOf<T extends Type> = Exclude<keyof EventOf<T>, 'type'> & string
type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : ''

/** The lines of the log: how severe each event is, and its fields, in snake_case as on the wire, by name. */
type Lines = {
  [T in Type]: {
    level: 'debug' | 'info' | 'warn' | 'error' | 'fatal'
    fields: { [F in FieldOf<T> as SnakeCase<F>]: F }
    /** Anyone can cause as many as they please: they are dropped before others where there is no room. */
    cheap?: true
  }
}

const remote = { remote_address: 'remoteAddress' } as const
const asked = { request_id: 'requestId', trace_id: 'traceId', ...remote } as const
const askedAt = { method: 'method', endpoint: 'endpoint', path: 'path', ...asked } as const
const answer = { status: 'status', ...askedAt } as const
const client = { client_id: 'clientId' } as const
const operator = { actor: 'actor', origin: 'origin', ...remote, request_id: 'requestId' } as const
const named = { operator: 'operator' } as const
const error = { err: 'err' } as const

/** Every line that there is. docs/log.md is tested against this list. */
export const LINES: Lines = {
  'token issued': { level: 'info', fields: { ...client, token_id: 'tokenId', secret_id: 'secretId', ...asked } },
  'token refused': {
    cheap: true,
    level: 'info',
    fields: { reason: 'reason', suite: 'suite', ...client, token_id: 'tokenId', ...askedAt },
  },
  'token accepted': { level: 'debug', fields: { suite: 'suite', ...client, token_id: 'tokenId', ...asked } },
  'token revoked': { level: 'info', fields: { ...client, token_id: 'tokenId', ...asked } },
  'many tokens issued': { level: 'warn', fields: { ...client, hour: 'hour' } },
  'token quota exceeded': { level: 'warn', fields: { ...client, hour: 'hour' } },
  'nothing to revoke': { level: 'info', fields: { ...client, ...asked } },

  'authentication refused': { level: 'warn', fields: { reason: 'reason', ...client, ...answer } },
  'request refused': {
    cheap: true,
    level: 'info',
    fields: { reason: 'reason', field: 'field', ...client, suite: 'suite', ...answer },
  },
  'request failed': { level: 'error', fields: { reason: 'reason', ...error, ...answer } },

  'application registered': { level: 'info', fields: { ...client, name: 'name', suites: 'suites', ...operator } },
  'application updated': { level: 'info', fields: { ...client, changed: 'changed', ...operator } },
  'application suspended': { level: 'info', fields: { ...client, ...operator } },
  'application resumed': { level: 'info', fields: { ...client, ...operator } },
  'application removed': { level: 'info', fields: { ...client, ...operator } },
  'application approved': { level: 'info', fields: { ...client, suite: 'suite', ...operator } },
  'approval withdrawn': { level: 'info', fields: { ...client, suite: 'suite', ...operator } },
  'suite registered': { level: 'info', fields: { suite: 'suite', name: 'name', ...operator } },
  'suite updated': { level: 'info', fields: { suite: 'suite', name: 'name', ...operator } },
  'suite removed': { level: 'info', fields: { suite: 'suite', ...operator } },
  'secret rotated': { level: 'info', fields: { ...client, others_end_at: 'othersEndAt', ...operator } },
  'secret added': { level: 'info', fields: { ...client, ...operator } },
  'secret revoked': { level: 'info', fields: { ...client, secret_id: 'secretId', ...operator } },
  'all tokens revoked': { level: 'info', fields: { ...client, ...operator } },
  'operator added': { level: 'info', fields: { ...named, role: 'role', ...operator } },
  'operator removed': { level: 'info', fields: { ...named, ...operator } },
  'operator key added': { level: 'info', fields: { ...named, key_id: 'keyId', ends_at: 'endsAt', ...operator } },
  'operator key revoked': { level: 'info', fields: { ...named, key_id: 'keyId', ...operator } },
  'login link made': { level: 'info', fields: { ...named, ends_at: 'endsAt', ...operator } },
  'operator logged in': { level: 'info', fields: { ...named, session_id: 'sessionId', ...operator } },
  'session ended': { level: 'info', fields: { ...named, session_id: 'sessionId', ...operator } },
  'operator refused': {
    level: 'warn',
    fields: { reason: 'reason', ...named, key_id: 'keyId', request_id: 'requestId', ...remote },
  },
  'backup made': { level: 'info', fields: { file: 'file', without_tokens: 'withoutTokens', ...operator } },
  'database restored': {
    level: 'info',
    fields: { file: 'file', replaced: 'replaced', revoke_all_tokens: 'revokeAllTokens', ...operator },
  },
  'database copied': {
    level: 'info',
    fields: {
      database: 'database',
      moved_to: 'movedTo',
      applications: 'applications',
      suites: 'suites',
      tokens: 'tokens',
      ...operator,
    },
  },
  'database reopened': { level: 'info', fields: { database: 'database', moved_to: 'movedTo', ...operator } },

  ready: {
    level: 'info',
    fields: {
      version: 'version',
      address: 'address',
      ops: 'ops',
      admin: 'admin',
      database: 'database',
      previous: 'previous',
      workers: 'workers',
    },
  },
  'database has moved': { level: 'warn', fields: { moved_to: 'movedTo' } },
  'previous database closed': { level: 'info', fields: { database: 'database', setting: 'setting' } },
  stopping: { level: 'info', fields: { signal: 'signal' } },
  stopped: { level: 'info', fields: {} },
  'refusals not logged': {
    level: 'warn',
    fields: { prefix: 'prefix', count: 'count', throttled: 'throttled', seconds: 'seconds' },
  },
  'connections closed': {
    level: 'warn',
    fields: { listener: 'listener', reason: 'reason', connections: 'connections', ...remote },
  },
  'proxy not trusted': { level: 'warn', fields: { ...remote, setting: 'setting' } },
  restarting: { level: 'info', fields: {} },
  restarted: { level: 'info', fields: {} },
  'rolling restart failed': { level: 'error', fields: error },
  'worker exited unexpectedly': {
    level: 'error',
    fields: { worker: 'worker', code: 'code', signal: 'signal', ...error },
  },
  'worker silent': { level: 'error', fields: { worker: 'worker' } },
  'worker printed': { level: 'warn', fields: { worker: 'worker', text: 'text' } },
  'settings not applied': { level: 'warn', fields: { settings: 'settings' } },
  'settings wrong': { level: 'warn', fields: { problems: 'problems' } },
  'purge failed': { level: 'warn', fields: error },
  'usage not recorded': { level: 'warn', fields: error },
  'refusals not recorded': { level: 'warn', fields: error },
  'store backlog': { level: 'warn', fields: { bytes: 'bytes', cause: 'cause' } },
  'store backlog cleared': { level: 'info', fields: {} },
  'clock jumped': { level: 'warn', fields: { seconds: 'seconds' } },
  'database lost': { level: 'error', fields: { err: 'err' } },
  'database found': { level: 'info', fields: { host: 'host' } },
  'clock differs': { level: 'warn', fields: { seconds: 'seconds' } },
  'clock agrees': { level: 'info', fields: {} },
  'request failures repeated': { level: 'error', fields: { reason: 'reason', message: 'message', count: 'count' } },
  'log lines dropped': { level: 'warn', fields: { count: 'count' } },
  'unexpected error': { level: 'fatal', fields: error },
  'shutdown cut short': { level: 'error', fields: error },
}

const CHEAP_ENDINGS = Object.entries(LINES)
  .filter(([, { cheap }]) => cheap)
  .map(([type]) => `"msg":"${type}"}\n`)

/** Whether a line may be dropped before others. */
export function isCheap(line: string): boolean {
  return CHEAP_ENDINGS.some((ending) => line.endsWith(ending))
}

/** The audit log: one line for each event that has one, its type as the message. A field that is undefined is left out. */
export function createAuditLog(log: Logger): Observer {
  const lines = new Map<string, { level: Lines[Type]['level']; fields: [string, string][] }>(
    Object.entries(LINES).map(([type, { level, fields }]) => [type, { level, fields: Object.entries(fields) }]),
  )
  return (event) => {
    const known = lines.get(event.type)
    if (!known) return
    const { level, fields } = known
    const values = event as unknown as Record<string, unknown>
    const line: Record<string, unknown> = {}
    for (let at = 0; at < fields.length; at++) {
      const [name, field] = fields[at] as [string, string]
      line[name] = values[field]
    }
    log[level](line, event.type)
  }
}
