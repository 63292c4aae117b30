import { setImmediate as turn } from 'node:timers/promises'
import { InvalidArgumentError } from 'commander'
import t from 'tap'
import { secretView } from '../../src/administration/views.ts'
import { holdSignals } from '../../src/commands/shared/process.ts'
import { duration, moment, secretsTable } from '../../src/commands/shared/text.ts'
import { NOT_SHOWN_YET } from '../../src/domain/secret.ts'

t.test('Signals: what came before anybody listened is handed to the first who does, as often as it came', async (t) => {
  const before = process.listenerCount('SIGHUP')
  holdSignals()
  process.emit('SIGHUP', 'SIGHUP')
  process.emit('SIGHUP', 'SIGHUP')
  const heard: string[] = []
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    const listener = (name: string) => void heard.push(name)
    process.on(signal, listener)
    t.teardown(() => process.off(signal, listener))
  }
  await turn()
  t.strictSame(heard, ['SIGHUP', 'SIGHUP'])
  t.equal(process.listenerCount('SIGHUP'), before + 1, 'and nobody else listens any more')
})

t.test('Times: a duration is a number with a unit, or 0', async (t) => {
  t.strictSame(['0', '90s', '30m', '24h', '7d'].map(duration), [0, 90_000, 30 * 60_000, 24 * 3_600_000, 7 * 86_400_000])
  for (const text of ['', '7', 'd', '7w', '-7d', '1.5h', '7 d', '1234567d'])
    t.throws(() => duration(text), InvalidArgumentError, text)
})

t.test('Times: a moment is a date and time, in UTC unless it has a zone, or a duration before now', async (t) => {
  const now = Date.UTC(2026, 10, 22, 6, 30)
  const moments: Record<string, number> = {
    '2026-11-22': Date.UTC(2026, 10, 22),
    '2026-11-22T06:30': now,
    '2026-11-22T06:30Z': now,
    '2026-11-22T08:30+02:00': now,
    '2026-11-22T06:30:01.5': now + 1500,
    '90s': now - 90_000,
    '7d': now - 7 * 86_400_000,
  }
  for (const [text, time] of Object.entries(moments)) t.equal(moment(text, now), time, text)
  t.ok(moment('1h') <= Date.now() - 3_600_000)
  const days = ['2026-02-30', '2026-02-30T06:30', '2026-02-28T25:00', '2026-13-01', '22.11.2026', '2026-11-22 06:30']
  for (const text of [...days, 'now', '']) t.throws(() => moment(text, now), InvalidArgumentError, text)
})

t.test('Words: run the seed again is said only where that gives a new secret', async (t) => {
  const base = { digest: '$sha256$A', createdAt: 0, revokedAt: null, lastUsedAt: undefined } as const
  const notShown = secretView({ ...base, id: 1, endsAt: NOT_SHOWN_YET, state: 'expired' })
  const active = secretView({ ...base, id: 2, endsAt: null, state: 'active' })
  t.equal(secretsTable([notShown, notShown]).match(/not shown yet: run the seed again/g)?.length, 2)
  t.match(secretsTable([notShown, active]), /never shown *\n/)
  t.notMatch(secretsTable([notShown, active]), /run the seed again/)
})
