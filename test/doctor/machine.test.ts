import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sizeText } from '../../src/doctor/finding.ts'
import {
  examineClock,
  examineDisk,
  examineLimits,
  examineProgram,
  judgeDisk,
  judgeNode,
  judgeSqlite,
} from '../../src/doctor/machine.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const MIB = 1024 ** 2

t.test('Doctor: the versions of what this runs on are right, and older ones are errors', async (t) => {
  const levels = (await examineProgram()).map(({ level }) => level)
  t.strictSame(levels, ['ok', 'ok', 'ok'])
  const nodes = ['24.2.0', '24.1.9', '25.0.0'].map((version) => judgeNode(version).level)
  t.strictSame(nodes, ['ok', 'error', 'ok'])
  t.match(judgeSqlite('3.51.3'), { level: 'ok' })
  t.match(judgeSqlite('3.51.2'), { level: 'error', text: /can lose commits/ })
})

t.test('Doctor: few files are a warning; where the system does not tell how many, nothing is said', async (t) => {
  const file = join(temporaryFolder(t), 'limits')
  const limit = async (text: string) => {
    writeFileSync(file, `Limit                     Soft Limit           Hard Limit           Units\n${text}\n`)
    return (await examineLimits(file)).map(({ level }) => level)
  }
  t.strictSame(await limit('Max open files            1024                 524288               files'), ['warning'])
  t.strictSame(await limit('Max open files            4096                 524288               files'), ['ok'])
  t.strictSame(await limit('Max open files            unlimited            unlimited            files'), ['ok'])
  t.strictSame(await limit('nothing'), [])
  t.strictSame(await examineLimits(join(file, 'missing')), [])
})

t.test('Doctor: a clock that cannot be right is an error', async (t) => {
  const levels = [0, Date.UTC(2025, 11, 31), Date.now(), Date.UTC(2100, 0)].map((time) => examineClock(time)[0]?.level)
  t.strictSame(levels, ['error', 'error', 'ok', 'error'])
})

t.test('Doctor: little room on a disk is a warning, next to none an error', async (t) => {
  const judge = (free: number, { used = 0, inodes = 1_000_000, freeInodes = 100_000 } = {}) =>
    judgeDisk({ folder: '/data', used, free, inodes, freeInodes })[0]
  t.match(judge(99 * MIB), { level: 'error', text: '99 MiB are free on the disk of /data.' })
  t.match(judge(1000 * MIB), { level: 'warning' })
  t.match(judge(2048 * MIB), { level: 'ok', text: '2.0 GiB are free on the disk of /data.' })
  t.match(judge(2048 * MIB, { inodes: 0, freeInodes: 0 }), { level: 'ok' })
  t.match(judge(2048 * MIB, { used: 3000 * MIB }), { level: 'warning', advice: /does not fit/ })
  t.match(judge(2048 * MIB, { freeInodes: 999 }), { level: 'error', text: /999 inodes left/ })
  t.match(judge(2048 * MIB, { freeInodes: 0 }), { level: 'error' })
})

t.test('Doctor: the disk of a folder that there is not is that of the nearest one', async (t) => {
  const file = join(temporaryFolder(t), 'a', 'b', 'store.db')
  t.match(await examineDisk({ kind: 'sqlite', file }), [{ text: / free on the disk of .*\/a\/b\.$/ }])
  await t.rejects(examineDisk({ kind: 'sqlite', file: join('/dev/null', 'a', 'store.db') }), { code: 'ENOTDIR' })
  const texts = [0, 1023, 1024, 10 * 1024, 1.5 * 1024 ** 3, 2000 * 1024 ** 4].map(sizeText)
  t.strictSame(texts.join(', '), '0 bytes, 1023 bytes, 1.0 KiB, 10 KiB, 1.5 GiB, 2000 TiB')
})
