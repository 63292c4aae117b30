import t from 'tap'
import { SURVIVALS, type Survival } from '../../lab/trial/power/file.ts'
import type { Entry } from '../../lab/trial/power/log.ts'
import { createModel } from '../../lab/trial/power/model.ts'
import { createRandom } from '../../lab/trial/random.ts'
import { growthOf } from '../../lab/trial/soak/samples.ts'

const INODE = 7n
const PAGE = 4096

type Untimed = Entry extends infer One ? (One extends { time: bigint } ? Omit<One, 'time'> : never) : never

function modelOf(entries: Untimed[]) {
  const model = createModel()
  for (const [at, entry] of entries.entries()) model.apply({ time: BigInt(at), ...entry } as Entry, at)
  return model
}

/** The files after these entries and a cut. */
const filesAfter = (entries: Untimed[], survival: Survival, seed = 'a seed') =>
  modelOf(entries).cut(() => survival, createRandom(seed))

/** What is left of the file `a`. */
const leftOf = (...given: Parameters<typeof filesAfter>) =>
  filesAfter(...given)
    .find(({ name }) => name === 'a')
    ?.bytes.toString('latin1')

const created: Untimed = { type: 'open', inode: INODE, name: 'a', isNew: true, mode: 0o600 }
const written = (offset: number, text: string): Untimed => {
  return { type: 'write', inode: INODE, offset, bytes: Buffer.from(text) }
}
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
  const kept = [...named, written(0, 'x'), ...sync(INODE, 2n, true), written(1, 'y'), ...sync(INODE, 3n)]
  t.equal(leftOf(kept, 'nothing'), 'xy', 'but for a page that is written to again')
})

t.test('Trial of power: a truncation is durable with the next sync, and not before', async (t) => {
  const cut = (size: number): Untimed => ({ type: 'truncate', inode: INODE, size })
  const entries = [...named, written(0, 'one'), ...sync(INODE, 2n), cut(1)]
  t.equal(leftOf(entries, 'nothing'), 'one')
  t.equal(leftOf([...entries, ...sync(INODE, 3n)], 'nothing'), 'o')
  t.equal(leftOf([...entries, cut(0), ...sync(INODE, 3n)], 'nothing'), '')
})

t.test('Trial of power: a file that is opened again keeps what came after a failed sync began', async (t) => {
  const opened: Untimed = { ...created, isNew: false } as Untimed
  const [began, ended] = sync(INODE, 2n, true)
  const entries = [...named, written(0, 'x'), opened, began, written(PAGE, 'y'), ended]
  t.equal(leftOf([...entries, ...sync(INODE, 3n)], 'everything'), `${'\0'.repeat(PAGE)}y`)
})

/** What is left after cuts by some seeds. */
const leftBySeed = (entries: Untimed[], survival: Survival) =>
  Array.from({ length: 40 }, (_, seed) => leftOf(entries, survival, `seed ${seed}`) as string)

t.test('Trial of power: of what was not synced any part may survive, and of what was synced all does', async (t) => {
  const before = 'A'.repeat(2 * PAGE)
  const after = 'A'.repeat(100) + 'B'.repeat(300) + 'A'.repeat(PAGE - 400) + 'C'.repeat(PAGE)
  const synced = [...named, written(0, before), ...sync(INODE, 2n)]
  const all = [...synced, written(100, 'B'.repeat(300)), written(PAGE, 'C'.repeat(PAGE))]
  const model = modelOf(all)
  t.equal(model.now()[0]?.bytes.toString(), after)
  t.equal(model.hasPending('a'), true)

  for (const survival of SURVIVALS) {
    const results = new Set(leftBySeed(all, survival))
    const torn = [...results].filter((left) => ![...left].every((byte, at) => [before[at], after[at]].includes(byte)))
    t.strictSame(torn, [], survival)
    if (survival === 'nothing') t.strictSame([...results], [before])
    else if (survival === 'everything') t.strictSame([...results], [after])
    else t.ok(results.size > 2, `${survival} is not always the same`)
  }
})

t.test('Trial of power: a file that was appended to ends at one of the sizes that it had', async (t) => {
  const entries = [...named, written(0, 'x'), ...sync(INODE, 2n), written(1, 'y'), written(2, 'z')]
  const sizes = leftBySeed(entries, 'any sectors').map(({ length }) => length)
  t.strictSame([...new Set(sizes)].sort(), [1, 2, 3])
})

t.test('Trial of power: names and modes are durable with a sync of their directory or file', async (t) => {
  const mode: Untimed = { type: 'mode', inode: INODE, mode: 0o644 }
  const renamed: Untimed[] = [...named, { type: 'rename', from: 'a', to: 'b' }, mode]
  const namesOf = (...given: Parameters<typeof filesAfter>) => filesAfter(...given).map(({ name }) => name)
  t.strictSame(namesOf(renamed, 'nothing'), ['a'])
  t.strictSame(namesOf(renamed, 'everything'), ['b'])
  t.strictSame(namesOf([...renamed, ...sync(0n, 2n)], 'nothing'), ['b'])
  const unlinked: Untimed[] = [...renamed, { type: 'unlink', name: 'b' }]
  t.strictSame(namesOf([...unlinked, ...sync(0n, 2n)], 'nothing'), [])
  t.equal(filesAfter([...renamed, ...sync(INODE, 2n)], 'everything')[0]?.mode, 0o644)
})

t.test('Random: a seed repeats every choice', async (t) => {
  const choices = (seed: string) => {
    const random = createRandom(seed)
    return [random.bytes(16).toString('hex'), random.between(0, 1000), random.chance(0.5), random.pick(['a', 'b', 'c'])]
  }
  t.strictSame(choices('one'), choices('one'))
  t.notSame(choices('one'), choices('two'))
})

t.test('Trials: the soak compares the last third of its samples with the middle one', async (t) => {
  const steady = { leader: 100, descriptors: 50, cpuSeconds: 0, lag: 1 }
  const thirds = [
    [400, 1],
    [100, 100],
    [108, 200],
  ] as const
  const samples = thirds.flatMap(([workers, bytes], third) =>
    [0, 1, 2].map((nth) => {
      const changing = { workers: workers + nth - 1, log: bytes * nth, requests: 10 * nth }
      return { ...steady, ...changing, minutes: 3 * third + nth }
    }),
  )
  t.strictSame(growthOf(samples), { memory: 1.04, descriptors: 1, log: 2, lag: 1 })
})
