import type { Logger } from 'pino'
import type { Event, Measurement, Observer } from '../domain/events.ts'

/** The event of a type. Unlike Extract, it finds events whose `type` is a union. */
export type EventOf<T, E = Event> = E extends { type: infer Types } ? (T extends Types ? E : never) : never

type Type = Exclude<Event, Measurement>['type']
type FieldOf<T extends Type> = Exclude<keyof EventOf<T>, 'type'> & string

type Lines = {
  [T in Type]: {
    level: 'debug' | 'info' | 'warn' | 'error' | 'fatal'
    fields: readonly FieldOf<T>[]
    /** Anyone can cause any number of these lines, so they are dropped first if there is no room. */
    isDroppable?: true
  }
}

/** Makes the compiler reject a line that leaves out a field of its event. */
type Complete<All extends Lines> = { [T in Type]: FieldOf<T> extends All[T]['fields'][number] ? All[T] : never }

function complete<const All extends Lines>(lines: All & Complete<All>): Lines {
  return lines
}

const source = ['requestId', 'traceId', 'remoteAddress'] as const
const request = ['method', 'endpoint', 'path', ...source] as const
const answer = ['status', ...request] as const
const operator = ['actor', 'origin', 'remoteAddress', 'requestId'] as const

const notice = ['noticeId', 'event', 'matter', 'host'] as const

const copied = ['applications', 'suites', 'tokens'] as const

/** Every line of the log. docs/log.md is tested against this list. */
export const LINES = complete({
  'token issued': { level: 'info', fields: ['clientId', 'tokenId', 'secretId', 'suite', 'authentication', ...source] },
  'token refused': { level: 'info', isDroppable: true, fields: ['reason', 'suite', 'clientId', 'tokenId', ...request] },
  'token accepted': { level: 'debug', fields: ['suite', 'clientId', 'tokenId', ...source] },
  'token revoked': { level: 'info', fields: ['clientId', 'tokenId', ...source] },
  'many tokens issued': { level: 'warn', fields: ['clientId', 'hour'] },
  'token quota exceeded': { level: 'warn', fields: ['clientId', 'hour'] },
  'nothing to revoke': { level: 'info', fields: ['clientId', ...source] },

  'authentication refused': { level: 'warn', fields: ['reason', 'detail', 'clientId', ...answer] },
  'request refused': { level: 'info', isDroppable: true, fields: ['reason', 'field', 'clientId', 'suite', ...answer] },
  'request would be refused': { level: 'warn', fields: ['reason', 'clientId', ...request] },
  'request failed': { level: 'error', fields: ['reason', 'err', ...answer] },

  'application registered': { level: 'info', fields: ['clientId', 'name', 'suites', ...operator] },
  'application updated': { level: 'info', fields: ['clientId', 'changed', ...operator] },
  'application suspended': { level: 'info', fields: ['clientId', ...operator] },
  'application resumed': { level: 'info', fields: ['clientId', ...operator] },
  'application removed': { level: 'info', fields: ['clientId', ...operator] },
  'application approved': { level: 'info', fields: ['clientId', 'suite', ...operator] },
  'approval withdrawn': { level: 'info', fields: ['clientId', 'suite', ...operator] },
  'suite registered': { level: 'info', fields: ['suite', 'name', ...operator] },
  'suite updated': { level: 'info', fields: ['suite', 'name', 'changed', ...operator] },
  'suite removed': { level: 'info', fields: ['suite', ...operator] },
  'change undone': { level: 'info', fields: ['clientId', 'changed', ...operator] },
  'secret rotated': { level: 'info', fields: ['clientId', 'othersEndAt', ...operator] },
  'secret added': { level: 'info', fields: ['clientId', ...operator] },
  'secret revoked': { level: 'info', fields: ['clientId', 'secretId', ...operator] },
  'hand-over link made': { level: 'info', fields: ['clientId', 'linkId', 'endsAt', ...operator] },
  'hand-over link withdrawn': { level: 'info', fields: ['clientId', 'linkId', ...operator] },
  'hand-over link used': { level: 'info', fields: ['clientId', 'linkId', 'othersEndAt', ...operator] },
  'all tokens revoked': { level: 'info', fields: ['clientId', ...operator] },
  'operator added': { level: 'info', fields: ['operator', 'role', 'email', ...operator] },
  'operator updated': { level: 'info', fields: ['operator', 'role', 'email', ...operator] },
  'operator removed': { level: 'info', fields: ['operator', ...operator] },
  'operator key added': { level: 'info', fields: ['operator', 'keyId', 'endsAt', ...operator] },
  'operator key revoked': { level: 'info', fields: ['operator', 'keyId', ...operator] },
  'login link made': { level: 'info', fields: ['operator', 'endsAt', ...operator] },
  'operator logged in': { level: 'info', fields: ['operator', 'sessionId', ...operator] },
  'session ended': { level: 'info', fields: ['operator', 'sessionId', ...operator] },
  'warning acknowledged': { level: 'info', fields: ['warning', ...operator] },
  'list exported': { level: 'info', fields: ['list', 'format', 'rows', 'complete', ...operator] },
  'operator refused': {
    level: 'warn',
    fields: ['reason', 'operator', 'keyId', 'detail', 'requestId', 'remoteAddress'],
  },
  'backup made': { level: 'info', fields: ['file', 'withoutTokens', ...operator] },
  'database restored': { level: 'info', fields: ['file', 'replaced', 'revokeAllTokens', ...operator] },
  'database copied': { level: 'info', fields: ['database', 'movedTo', ...copied, ...operator] },
  'database reopened': { level: 'info', fields: ['database', 'movedTo', ...operator] },

  ready: { level: 'info', fields: ['version', 'address', 'ops', 'admin', 'database', 'previous', 'workers'] },
  'database created': { level: 'warn', fields: ['database'] },
  'database has moved': { level: 'warn', fields: ['movedTo'] },
  'database may lose data': { level: 'warn', fields: ['settings'] },
  'previous database closed': { level: 'info', fields: ['database', 'setting'] },
  stopping: { level: 'info', fields: ['signal'] },
  stopped: { level: 'info', fields: [] },
  'refusals not logged': { level: 'warn', fields: ['prefix', 'count', 'throttled', 'seconds'] },
  'connections closed': { level: 'warn', fields: ['listener', 'reason', 'connections', 'remoteAddress'] },
  'certificate loaded': { level: 'info', fields: ['listener', 'endsAt'] },
  'certificate refused': { level: 'error', fields: ['listener', 'problem'] },
  'certificate ends': { level: 'warn', fields: ['listener', 'endsAt'] },
  'proxy not trusted': { level: 'warn', fields: ['remoteAddress', 'setting'] },
  restarting: { level: 'info', fields: [] },
  restarted: { level: 'info', fields: [] },
  'rolling restart failed': { level: 'error', fields: ['err'] },
  'worker exited unexpectedly': { level: 'error', fields: ['worker', 'code', 'signal', 'err'] },
  'worker silent': { level: 'error', fields: ['worker'] },
  'worker printed': { level: 'warn', fields: ['worker', 'text'] },
  'settings not applied': { level: 'warn', fields: ['settings'] },
  'settings wrong': { level: 'warn', fields: ['problems'] },
  'purge failed': { level: 'warn', fields: ['err'] },
  'usage not recorded': { level: 'warn', fields: ['err'] },
  'refusals not recorded': { level: 'warn', fields: ['err'] },
  'notices not recorded': { level: 'warn', fields: ['err'] },
  'issuer keys fetched': { level: 'info', fields: ['issuer', 'keys'] },
  'issuer keys not fetched': { level: 'warn', fields: ['issuer', 'problem', 'fetchedAt'] },
  'audit head': { level: 'info', fields: ['id', 'at', 'hash', 'madeAt', 'signature'] },
  'notice delivered': { level: 'info', fields: notice },
  'notice not delivered': { level: 'warn', fields: [...notice, 'problem', 'nextAt'] },
  'store backlog': { level: 'warn', fields: ['bytes', 'cause'] },
  'store backlog cleared': { level: 'info', fields: [] },
  'clock jumped': { level: 'warn', fields: ['seconds'] },
  'database lost': { level: 'error', fields: ['err'] },
  'database found': { level: 'info', fields: ['host'] },
  'clock differs': { level: 'warn', fields: ['seconds'] },
  'clock agrees': { level: 'info', fields: [] },
  'request failures repeated': { level: 'error', fields: ['reason', 'message', 'count'] },
  'log lines dropped': { level: 'warn', fields: ['count'] },
  'unexpected error': { level: 'fatal', fields: ['err'] },
  'shutdown cut short': { level: 'error', fields: ['err'] },
})

const DROPPABLE_ENDINGS = Object.entries(LINES)
  .filter(([, { isDroppable }]) => isDroppable)
  .map(([type]) => `"msg":"${type}"}\n`)

/** Whether a line may be dropped before others. */
export function isDroppable(line: string): boolean {
  return DROPPABLE_ENDINGS.some((ending) => line.endsWith(ending))
}

/** The name of an event's field in the log: in snake_case. */
export function nameInLog(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Writes one line for each event in LINES, its type as the message. Undefined fields are left out. */
export function createAuditLog(log: Logger): Observer {
  const lines = new Map(
    Object.entries(LINES).map(([type, { level, fields }]) => {
      const names = fields.map((field): [string, string] => [nameInLog(field), field])
      return [type, { level, names }]
    }),
  )
  return (event) => {
    const known = lines.get(event.type)
    if (!known) return
    const { level, names } = known
    const values = event as unknown as Record<string, unknown>
    const line: Record<string, unknown> = {}
    for (let at = 0; at < names.length; at++) {
      const [name, field] = names[at] as [string, string]
      line[name] = values[field]
    }
    log[level](line, event.type)
  }
}
