import type { Logger } from 'pino'
import type { Event, Observer } from '../domain/events.ts'

/** How severe each event is. docs/log.md is tested against this list. */
export const LEVELS: Record<Event['type'], 'info' | 'warn' | 'error' | 'fatal'> = {
  'token issued': 'info',
  'token refused': 'info',
  'token revoked': 'info',
  'nothing to revoke': 'info',
  'authentication refused': 'warn',
  'request refused': 'info',
  'request failed': 'error',
  'application registered': 'info',
  'application suspended': 'info',
  'application resumed': 'info',
  'application removed': 'info',
  'application approved': 'info',
  'approval withdrawn': 'info',
  'suite registered': 'info',
  'suite removed': 'info',
  'secret rotated': 'info',
  'secret revoked': 'info',
  'all tokens revoked': 'info',
  ready: 'info',
  stopping: 'info',
  stopped: 'info',
  restarting: 'info',
  restarted: 'info',
  'rolling restart failed': 'error',
  'worker exited unexpectedly': 'error',
  'purge failed': 'warn',
  'unexpected error': 'fatal',
  'shutdown cut short': 'error',
}

/** The log writes snake_case, as the wire does. */
const FIELD_NAMES: Record<string, string> = {
  clientId: 'client_id',
  tokenId: 'token_id',
  remoteAddress: 'remote_address',
  secretId: 'secret_id',
  othersEndAt: 'others_end_at',
}

/** The audit log: one line for each event, with its type as the message. */
export function createAuditLog(log: Logger): Observer {
  return (event) => {
    if (event.type === 'token issued') {
      // By itself, for it is the most frequent by far.
      const { clientId: client_id, tokenId: token_id, remoteAddress: remote_address } = event
      log.info({ client_id, token_id, remote_address }, event.type)
      return
    }
    const line: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(event)) {
      if (name !== 'type') line[FIELD_NAMES[name] ?? name] = value
    }
    log[LEVELS[event.type]](line, event.type)
  }
}
