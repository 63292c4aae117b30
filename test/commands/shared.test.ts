import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { InvalidArgumentError } from 'commander'
import t, { type Test } from 'tap'
import { misspeltSettings, misspeltVariables, readEnvFile, watchSettings } from '../../src/commands/shared/env-file.ts'
import { holdSignals } from '../../src/commands/shared/held-signals.ts'
import { duration, moment, stateText } from '../../src/commands/shared/text.ts'
import { VERSION } from '../../src/version.ts'
import { MAIN } from '../support/spawn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
  const durations = { 0: 0, '90s': 90_000, '30m': 30 * 60_000, '24h': 24 * 3_600_000, '7d': 7 * 86_400_000 }
  for (const [text, time] of Object.entries(durations)) t.equal(duration(text), time, text)
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

function envFile(t: Test, text: string): string {
  const file = join(temporaryFolder(t), '.env')
  writeFileSync(file, text)
  return file
}

t.test('Texts: an expired secret has the time of its end', async (t) => {
  t.equal(stateText({ state: 'expired', ends_at: 'T' as never, revoked_at: null }), 'expired at T')
})

t.test('.env: it has lines KEY=value, comments and blank lines; a quoted value may go over several', async (t) => {
  const text = '\ufeffPORT=1\r\n\r\n# a: comment\n  HOST = "::" # all\nexport A=\'x\ny\'\nB=\nC="not closed\n'
  const settings = { PORT: '1', HOST: '::', A: 'x\ny', B: '', C: '"not closed' }
  t.strictSame({ ...readEnvFile(envFile(t, text)).settings }, settings)
  t.strictSame({ ...readEnvFile(join(temporaryFolder(t), 'none')).settings }, {})
})

t.test('.env: every other line is refused with its number, an unreadable file with the reason', async (t) => {
  const file = envFile(t, 'HOST=::\nPORT: 18142\nA="1\n2"\nLOG_LEVEL\n')
  const message = `Line 2 of ${file} is neither KEY=value nor a comment.\nLine 5 of ${file} is neither KEY=value nor a comment.`
  const { settings, errors } = readEnvFile(file)
  t.strictSame({ ...settings }, { HOST: '::', A: '1\n2' }, 'the other lines can be read')
  t.equal(errors.join('\n'), message)
  const folder = temporaryFolder(t)
  const unreadable = `Cannot read ${folder}: EISDIR: illegal operation on a directory, read.`
  t.strictSame(readEnvFile(folder), { settings: {}, warnings: [], errors: [unreadable] })
})

t.test('.env: --version does not read it', async (t) => {
  const cwd = dirname(envFile(t, 'PORT: 18142\n'))
  const run = (...args: string[]) => spawnSync(process.execPath, [MAIN, ...args], { cwd, encoding: 'utf8' })
  t.match(run('version'), { status: 1, stderr: /^Line 1 of / })
  for (const option of ['--version', '-V']) t.match(run(option), { status: 0, stdout: `${VERSION}\n`, stderr: '' })
})
t.test('.env: a name that looks like a misspelt setting is reported; those of other programs are not', async (t) => {
  const names = ['PORT', 'LOG_LEVLE', 'public_url', 'PUBLICURL', 'POSTGRES_PASSWORD', 'NODE_ENV', 'TZ', 'HOME', 'ROOT']
  const told = misspeltSettings(names).map((text) =>
    text.replace(/^There is no setting (.*) \(in \.env\)\. Did you mean/, '$1:'),
  )
  t.strictSame(told, ['LOG_LEVLE: LOG_LEVEL?', 'public_url: PUBLIC_URL?', 'PUBLICURL: PUBLIC_URL?'])
  const long = ['TOKENQUOTA', 'WORKER', 'DATABSE_URL', 'WORKERS', 'HOSTNAME', 'POST', 'PORTS', 'HOME', 'PUBLICURLS']
  const meant = 'There is no setting TOKENQUOTA (in the environment). Did you mean TOKEN_QUOTA?'
  t.match(misspeltVariables(long), [meant, / WORKER /, / DATABSE_URL /], 'only long names that are one letter away')
  t.equal(misspeltVariables(long).length, 3)
})

t.test('.env: a name that has several values, and a value that a # cuts off, are reported', async (t) => {
  const file = envFile(t, 'PORT=1 # 1#2\nHOST="a#b"\nPUBLIC_URL=https://a.example#b\nPORT=2\n#PORT=3\nA=b#c\nA=b\n')
  const { settings, warnings } = readEnvFile(file)
  t.match(settings, { PORT: '2', PUBLIC_URL: 'https://a.example' })
  t.strictSame(warnings, [
    `PUBLIC_URL in ${file} ends before the #, which begins a comment: put the value in quotes.`,
    `PORT has several values in ${file}: the last one counts.`,
  ])
  const repeated = envFile(t, 'PORT=1\nexport PORT="1" # again\n')
  t.strictSame(readEnvFile(repeated).warnings, [], 'the same value twice is none')
})

t.test('.env: settings that are different, new or gone have changed; what a start would report is known', async (t) => {
  const file = envFile(t, 'HOST=::\nPORT=1\nOTHER=1\n')
  const settingsNow = watchSettings(file, { HOST: '::', PORT: '1', WORKERS: '2' })
  t.strictSame(settingsNow(), { changed: [], problems: [] })
  writeFileSync(file, 'HOST=::1\nLOG_LEVEL=warn\nOTHER=2\n')
  t.strictSame(settingsNow(), { changed: ['HOST', 'PORT', 'LOG_LEVEL'], problems: [] })
  writeFileSync(file, 'HOST=::\nPORT=1\nWORKERS: 3\n')
  t.strictSame(settingsNow(), { changed: [], problems: [`Line 3 of ${file} is neither KEY=value nor a comment.`] })
  writeFileSync(file, 'HOST=::\nPORT=loud\nLOG_LEVEL=loud\nWORKERS=many\nHSOT=secret\n')
  t.strictSame(settingsNow(), {
    changed: ['PORT', 'LOG_LEVEL', 'WORKERS'],
    problems: [
      'There is no setting HSOT (in .env). Did you mean HOST?',
      'PORT must be a number from 0 to 65535. It is "loud" in .env.',
      'LOG_LEVEL must be debug, info, warn, error, fatal or silent. It is "loud" in .env.',
    ],
  })
})
