import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { createAuditLog, isDroppable, LINES } from '../../src/telemetry/audit-log.ts'
import { createLineLog } from '../../src/telemetry/log.ts'

/** A log and its lines. */
function createLines(level: 'trace' | 'info' | 'error') {
  const lines: string[] = []
  const observe = createAuditLog(createLineLog(level, (line) => lines.push(line)))
  return { lines, observe }
}

function logged(event: Event) {
  const { lines, observe } = createLines('info')
  observe(event)
  t.equal(lines.length, 1)
  const { time, pid, hostname, ...rest } = JSON.parse(lines[0] as string)
  t.type(time, 'number')
  return rest
}

t.test('Audit log: an event is one line, with its type as the message and its fields in snake_case', async (t) => {
  const asked = { requestId: 'r', remoteAddress: '192.0.2.1' }
  const client = { client_id: 'a', request_id: 'r', remote_address: '192.0.2.1' }
  const check = { type: 'token refused', reason: 'expired token', suite: 'store', tokenId: undefined } as const
  const ofAToken: Event = { ...check, clientId: 'a', ...asked }
  const change = { type: 'secret revoked', secretId: 7, actor: 'root', origin: 'console' } as const
  const ofAChange: Event = { ...change, clientId: 'a', ...asked }
  const issued: Event = { type: 'token issued', clientId: 'a', tokenId: 'x', secretId: 7, ...asked, traceId: 'f' }
  const cases: [event: Event, fields: object][] = [
    [issued, { token_id: 'x', secret_id: 7, trace_id: 'f' }],
    [ofAToken, { reason: 'expired token', suite: 'store' }],
    [ofAChange, { secret_id: 7, actor: 'root', origin: 'console' }],
  ]
  for (const [event, fields] of cases) {
    t.strictSame(logged(event), { level: 'info', msg: event.type, ...client, ...fields })
  }
})

t.test('Audit log: an error has its message, its stack and its cause', async (t) => {
  const err = new Error('outer', { cause: new Error('inner') })
  const shown = { type: 'Error', message: 'outer: inner', stack: /caused by: Error: inner/ }
  t.match(logged({ type: 'purge failed', err }), { level: 'warn', err: shown })
})

t.test("Audit log: every event has a level, and below the log's there is no line", async (t) => {
  const { lines, observe } = createLines('error')
  for (const type of Object.keys(LINES)) observe({ type } as Event)
  const severe = Object.entries(LINES).filter(([, { level }]) => ['error', 'fatal'].includes(level))
  const expected = severe.map(([type]) => type)
  t.strictSame(lines.map((line) => JSON.parse(line).msg).sort(), expected.sort())
  const all = createLines('trace')
  all.observe({ type: 'check passed' })
  t.strictSame(all.lines, [])
})

t.test('Audit log: only what anyone can cause in any number may be dropped before others', async (t) => {
  const { lines, observe } = createLines('trace')
  for (const type of Object.keys(LINES)) observe({ type, suite: '"msg":"request refused"}\n' } as unknown as Event)
  const cheap = lines.filter(isDroppable).map((line) => JSON.parse(line).msg)
  t.strictSame(cheap, ['token refused', 'request refused'])
})
