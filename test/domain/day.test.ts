import t from 'tap'
import { isDay } from '../../src/domain/time.ts'

t.test('Days: only dates that exist are days', async (t) => {
  for (const day of ['2026-01-31', '2028-02-29', '0000-01-01', '9999-12-31']) t.ok(isDay(day), day)
  for (const text of ['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00', '2026-01-32'])
    t.notOk(isDay(text), text)
  for (const text of ['', '2026-1-31', '2026-01-31T00:00', ' 2026-01-31', '31.01.2026']) t.notOk(isDay(text), text)
})
