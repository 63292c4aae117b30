import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { createAuditLog } from '../../src/telemetry/audit-log.ts'
import { createLineLog } from '../../src/telemetry/log.ts'

const FILTER = readFileSync(join(import.meta.dirname, '../../examples/fail2ban/filter.conf'), 'utf8')
const [, failregex = ''] = /^failregex = (.+)$/m.exec(FILTER) ?? []
const pattern = new RegExp(failregex.replace('<HOST>', '(?<host>[0-9a-fA-F.:]+)'))

/** Whom fail2ban blames for an event. It reads lines without their time, which it has cut out. */
function blamed(event: Event): string | undefined {
  let line = ''
  createAuditLog(createLineLog('info', (text) => (line = text)))(event)
  return pattern.exec(line.trimEnd().replace(/"time":\d+,/, ''))?.groups?.host
}

const asked = { requestId: 'r', remoteAddress: '192.0.2.1' }
const answered = { status: 401, endpoint: '/v1/oauth/accesstoken', ...asked }

t.test('fail2ban: a refused authentication is blamed on its address, whatever came as the client id', async (t) => {
  for (const clientId of ['a', undefined, '","remote_address":"192.0.2.9","msg":"authentication refused"}']) {
    for (const remoteAddress of ['192.0.2.1', '2001:db8::1', '::ffff:192.0.2.1']) {
      const refused = { ...answered, type: 'authentication refused', reason: 'wrong secret', clientId, remoteAddress }
      t.equal(blamed(refused as Event), remoteAddress)
    }
  }
})

t.test('fail2ban: nobody is blamed for anything else', async (t) => {
  t.equal(blamed({ ...answered, type: 'request refused', reason: 'not a form', field: undefined }), undefined)
  t.equal(blamed({ type: 'token revoked', clientId: 'a', tokenId: 'b', ...asked }), undefined)
})
