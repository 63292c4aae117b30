import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { copyOf } from './copy.ts'
import { type Mutation, mutationsOf } from './mutations.ts'
import { byFolder, describe, type Explained, isSame, type Result, survivorText } from './report.ts'
import { covers, measure, type PassedTest, stillPasses, testFiles } from './tests.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const ENOUGH = 0.95

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '.' },
    tests: { type: 'string', default: '.' },
    sample: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    all: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
})

const sources = new Map(
  values.only.split(',').flatMap((place) =>
    globSync(`${join('src', place)}{,/**/*.ts}`, { cwd: REPOSITORY })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [file, readFileSync(join(REPOSITORY, file), 'utf8')]),
  ),
)
const every = [...sources].flatMap(([file, source]) => mutationsOf(file, source))
const queue = values.all ? every : shuffled(every, Number(values.seed)).slice(0, Number(values.sample))
const explained: Explained[] = JSON.parse(readFileSync(join(import.meta.dirname, 'survivors.json'), 'utf8'))
const copies = Array.from({ length: Number(values.jobs) }, () => copyOf(REPOSITORY))
process.on('SIGINT', () => process.exit(130))

const tests = await measureAll(testFiles(REPOSITORY, values.tests.split(',')))
console.log(`${queue.length} of ${every.length} mutants${values.all ? '' : `, --seed ${values.seed}`}`)
const results = await tryAll(queue)
report(results)

/** Runs the tests on the unchanged sources; there is nothing to learn from a test that fails without a mutation. */
async function measureAll(files: string[]): Promise<PassedTest[]> {
  console.log(`${files.length} test files without a mutation ...`)
  const passed: PassedTest[] = []
  const waiting = [...files]
  const failed: string[] = []
  await inEachCopy(async (copy) => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const test = await measure(copy, file)
      if (test) passed.push(test)
      else failed.push(file)
    }
  })
  if (failed.length > 0) {
    console.error(`Fails without a mutation: ${failed.join(', ')}`)
    process.exit(2)
  }
  return passed
}

async function tryAll(mutations: Mutation[]): Promise<Result[]> {
  const results: Result[] = []
  const waiting = [...mutations]
  /** By source file, the test that noticed a mutant last: it often notices the next one too. */
  const lastToNotice = new Map<string, PassedTest>()
  await inEachCopy(async (copy) => {
    for (let mutation = waiting.shift(); mutation; mutation = waiting.shift()) {
      const noticedBy = await firstToNotice(copy, mutation, lastToNotice.get(mutation.file))
      if (noticedBy) lastToNotice.set(mutation.file, noticedBy)
      const described = describe(mutation, sources.get(mutation.file) as string)
      const outcome = noticedBy ? 'noticed' : explained.some((one) => isSame(one, described)) ? 'explained' : 'survived'
      results.push({ ...described, outcome })
      if (outcome === 'survived') console.log(`survived ${survivorText(described)}`)
      if (results.length % 25 === 0) console.log(`${results.length}/${mutations.length}`)
    }
  })
  return results
}

/** The first test to fail with this mutation, or to take too long. The likely one, the near ones and the fast ones go first. */
async function firstToNotice(copy: string, mutation: Mutation, likely?: PassedTest): Promise<PassedTest | undefined> {
  const source = sources.get(mutation.file) as string
  const path = join(copy, mutation.file)
  writeFileSync(path, source.slice(0, mutation.start) + mutation.replacement + source.slice(mutation.end))
  try {
    const priority = (test: PassedTest) =>
      test === likely ? Number.POSITIVE_INFINITY : nearness(test.file, mutation.file)
    const covering = tests.filter((test) => covers(test, mutation))
    for (const test of covering.sort((a, b) => priority(b) - priority(a) || a.time - b.time)) {
      if (!(await stillPasses(copy, test))) return test
    }
    return undefined
  } finally {
    writeFileSync(path, source)
  }
}

/** How many parts of its path a test has in common with a source file: `test/` mirrors `src/`. */
function nearness(test: string, source: string): number {
  const names = source.replace(/\.ts$/, '').split('/').slice(1)
  const differs = test
    .replace(/\.test\.ts$/, '')
    .split('/')
    .slice(1)
    .findIndex((name, at) => name !== names[at])
  return differs === -1 ? names.length : differs
}

function report(results: Result[]): void {
  const folders = byFolder(results)
  console.table(folders.map(({ share, ...counts }) => ({ ...counts, share: `${(100 * share).toFixed(1)} %` })))
  const survivors = results.filter(({ outcome }) => outcome === 'survived')
  for (const survivor of survivors) console.log(survivorText(survivor))
  if (values.all && values.only === '.') {
    for (const one of explained) {
      if (!results.some((result) => result.outcome === 'explained' && isSame(one, result))) {
        console.log(`survivors.json has an outdated entry: ${one.file}: ${one.mutant}`)
      }
    }
  }
  if (folders.some(({ share }) => share < ENOUGH)) {
    console.error(`Less than ${100 * ENOUGH} % noticed or explained`)
    process.exitCode = 1
  }
}

async function inEachCopy(work: (copy: string) => Promise<void>): Promise<void> {
  await Promise.all(copies.map(work))
}

/** In an order that depends on the seed alone (Fisher-Yates, with mulberry32 for the numbers). */
function shuffled<Item>(items: Item[], seed: number): Item[] {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[order[last], order[other]] = [order[other] as Item, order[last] as Item]
  }
  return order
}
