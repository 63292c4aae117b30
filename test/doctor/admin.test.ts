import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { examineOperators, examineSocketFolder } from '../../src/doctor/access.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const DAY = 24 * 60 * 60_000
const NOW = Date.UTC(2026, 0, 1)

t.test('Doctor: the folder of the admin socket must exist and not be writable by others', async (t) => {
  const folder = join(temporaryFolder(t), 'run')
  const found = () => examineSocketFolder(join(folder, 'admin.sock'))
  t.match(await found(), [{ level: 'error', text: `The folder of ADMIN_ADDRESS, ${folder}, does not exist.` }])
  mkdirSync(folder)
  for (const mode of [0o700, 0o755, 0o1777]) {
    chmodSync(folder, mode)
    t.match(await found(), [{ level: 'ok', text: `The folder of ADMIN_ADDRESS is ${folder}.` }], mode.toString(8))
  }
  for (const mode of [0o770, 0o702]) {
    chmodSync(folder, mode)
    t.match(await found(), [
      {
        level: 'warning',
        text: new RegExp(`^Others may write to ${folder} \\(mode ${mode.toString(8)}\\), `),
        advice: `chmod go-w ${folder}`,
      },
    ])
  }
})

t.test('Doctor: a folder of the admin socket that cannot be read is a finding', async (t) => {
  await t.rejects(examineSocketFolder('/dev/null/run/admin.sock'), { code: 'ENOTDIR' })
})

t.test('Doctor: it reports a listener without operators, and operators whose last key ends soon', async (t) => {
  t.match(examineOperators([], NOW), [{ level: 'note', text: 'There is no operator who could use ADMIN_ADDRESS.' }])
  const anna = { name: 'anna', lastKeyEndsAt: NOW + 8 * DAY }
  const nobody = { name: 'nobody', lastKeyEndsAt: null }
  t.match(examineOperators([anna, nobody], NOW), [{ level: 'ok', text: 'No admin key ends within a week.' }])
  const findings = examineOperators(
    [anna, { name: 'ben', lastKeyEndsAt: NOW + 7 * DAY }, { name: 'cleo', lastKeyEndsAt: NOW }, nobody],
    NOW,
  )
  t.match(findings, [
    {
      level: 'warning',
      text: 'The last admin key of the operator ben ends at 2026-01-08T00:00:00Z.',
      advice: '"operators key ben --expires 90d" makes another one.',
    },
    { level: 'warning', text: 'The operator cleo has no admin key since 2026-01-01T00:00:00Z.' },
  ])
  t.equal(findings.length, 2)
})
