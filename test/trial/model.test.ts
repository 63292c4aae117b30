import t from 'tap'
import type { Entry } from '../../trial/power/log.ts'
import { createModel } from '../../trial/power/model.ts'
import { createRandom } from '../../trial/random.ts'

const INODE = 7n
const PAGE = 4096

type Untimed = Entry extends infer One ? (One extends { time: bigint } ? Omit<One, 'time'> : never) : never

/** What is left of the file `a` after these entries and a cut. */
function leftOf(entries: Untimed[], survival: 'nothing' | 'everything'): string | undefined {
  const model = createModel()
  for (const [at, entry] of entries.entries()) model.apply({ time: BigInt(at), ...entry } as Entry, at)
  const files = model.cut(() => survival, createRandom('a seed'))
  return files.find(({ name }) => name === 'a')?.bytes.toString('latin1')
}

const created: Untimed = { type: 'open', inode: INODE, name: 'a', isNew: true, mode: 0o600 }
const written = (offset: number, text: string): Untimed => ({
  type: 'write',
  inode: INODE,
  offset,
  bytes: Buffer.from(text),
})
const sync = (inode: bigint, number: bigint, failed = false): [Untimed, Untimed] => [
  { type: 'sync begin', inode, number },
  { type: 'sync end', inode, number, failed },
]
const named = [created, ...sync(0n, 1n)]

t.test('Trial of power: a file whose name was not synced with its directory may be gone', async (t) => {
  t.equal(leftOf([created, written(0, 'x'), ...sync(INODE, 2n)], 'nothing'), undefined)
  t.equal(leftOf([...named, written(0, 'x'), ...sync(INODE, 2n)], 'nothing'), 'x')
})

t.test('Trial of power: only what was written before a sync began is durable', async (t) => {
  const [began, ended] = sync(INODE, 2n)
  const entries = [...named, written(0, 'one'), began, written(3, 'two'), ended]
  t.equal(leftOf(entries, 'nothing'), 'one')
  t.equal(leftOf(entries, 'everything'), 'onetwo')
})

t.test('Trial of power: what a failed sync has dropped is lost after a sync that succeeds', async (t) => {
  const lost = [...named, written(0, 'x'), ...sync(INODE, 2n, true), written(PAGE, 'y'), ...sync(INODE, 3n)]
  t.equal(leftOf(lost, 'everything'), `${'\0'.repeat(PAGE)}y`)
})

t.test('Trial of power: a page that is written to again takes with it what a failed sync has dropped', async (t) => {
  const kept = [...named, written(0, 'x'), ...sync(INODE, 2n, true), written(1, 'y'), ...sync(INODE, 3n)]
  t.equal(leftOf(kept, 'nothing'), 'xy')
})

t.test('Trial of power: a truncation is durable with the next sync, and not before', async (t) => {
  const cut: Untimed = { type: 'truncate', inode: INODE, size: 1 }
  const entries = [...named, written(0, 'one'), ...sync(INODE, 2n), cut]
  t.equal(leftOf(entries, 'nothing'), 'one')
  t.equal(leftOf([...entries, ...sync(INODE, 3n)], 'nothing'), 'o')
})
