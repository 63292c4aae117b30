import t from 'tap'
import { DOCUMENTS, filled, namesIn, PUBLISHED, publishedOf } from '../../lab/bench/report/documents.ts'
import { type Published, reasonsNotToPublish } from '../../lab/bench/report/publish.ts'
import { describeMachine, type Results, type SectionResult } from '../../lab/bench/report/results.ts'
import { cpuRatio, type Row } from '../../lab/bench/row.ts'
import { dearer } from '../../lab/bench/sections/release.ts'
import { read } from './files.ts'

const row = (name: string, cpuMicroseconds: number) => {
  const round = { requestsPerSecond: 1e6 / cpuMicroseconds, cpuMicroseconds, databaseMicroseconds: null }
  return { name, ...round, toOther: null, rounds: [round] } as unknown as Row
}

function section(name: string, cpu: Record<string, number>): SectionResult {
  const rows = Object.entries(cpu).map((one) => row(...one))
  return { name, title: name, rows, notes: [], plots: [], targets: [], failed: false }
}

const machine = { cpu: 'A', cores: 2, memory: 8, kernel: '6', node: 'v24' }

/** A run on a quiet machine in which a token takes this many microseconds. */
function run(token = 60, changes: Partial<Results> = {}): Results {
  const others = { 'bare node:http': 30, 'constant Fastify': 40, simple: 80 }
  const issuance = section('issuance', { 'this server': token, ...others })
  const times = { rounds: 9, seconds: 1.5, warmUp: 2 }
  const startedAt = '2026-01-02T03:04:05.000Z'
  const sections = [issuance, section('checks', { verify: 20 })]
  return { machine, startedAt, loadBefore: 0.5, times, quick: false, sections, targets: [], ...changes }
}

const RATIO = 'issuance: this server / simple: CPU'
const figures = { [RATIO]: 0.75, 'checks: verify: CPU': 90 }
const published: Published = { machine, startedAt: '', figures, missed: [] }
const options = { published, sections: ['issuance', 'checks'], accepts: false }
const reasons = (runs: Results[], changes = {}) => reasonsNotToPublish(runs, { ...options, ...changes })

t.test('Bench: a complete run on a quiet machine that differs little is published', async (t) => {
  t.strictSame(reasons([run(), run(65, { sections: run(65).sections.slice(0, 1) })]), [])
  t.strictSame(reasons([run(69)], { published: undefined }), [])
})

t.test('Bench: a run is not published, for a reason in a sentence, if it is …', async (t) => {
  const [issuance, checks] = run().sections as [SectionResult, SectionResult]
  const bare = (cpu: number) => [section('issuance', { 'bare node:http': cpu, 'constant Fastify': 100 }), checks]
  const toOther = { requestsPerSecond: null, cpuMicroseconds: null }
  const versions = { ...checks, rows: [{ ...row('verify', 1), toOther }] }
  const cases: Record<string, { runs: Results[]; reason: RegExp }> = {
    incomplete: { runs: [run(60, { sections: [issuance] })], reason: /must be complete: checks is missing\.$/ },
    quick: { runs: [run(60, { quick: true })], reason: /quick one/ },
    'of two versions': { runs: [run(60, { sections: [issuance, versions] })], reason: /another version/ },
    failed: { runs: [run(60, { sections: [issuance, { ...checks, failed: true }] })], reason: /failed/ },
    'on a busy machine': { runs: [run(60, { loadBefore: 0.51 })], reason: /load average of 0\.51.+not quiet\.$/ },
    'second, on a busy machine': { runs: [run(), run(60, { loadBefore: 4 })], reason: /load average of 4\.00/ },
    'of two machines': { runs: [run(), run(60, { machine: { ...machine, cpu: 'B' } })], reason: /another machine/ },
    'where bare node:http takes little': { runs: [run(60, { sections: bare(64) })], reason: /took 0\.64 of the CPU/ },
    'where bare node:http takes much': { runs: [run(60, { sections: bare(86) })], reason: /took 0\.86 of the CPU/ },
    'more expensive': { runs: [run(70)], reason: /was 0\.75 and is 0\.88, more than 15 % apart.+--accept it\.$/ },
    'less expensive': { runs: [run(50)], reason: /was 0\.75 and is 0\.63/ },
  }
  for (const [name, { runs, reason }] of Object.entries(cases)) {
    const found = reasons(runs)
    t.equal(found.length, 1, name)
    t.match(found[0], reason, name)
  }
  t.strictSame(reasons([run(70)], { accepts: true }), [], '… but a difference can be accepted')
})

t.test('Bench: a figure in a document, and what missed its target, is replaced by that of the runs', async (t) => {
  const target = { asked: 'checks: fast', value: 1.234, range: null, isMet: false }
  const [issuance, checks] = run().sections as [SectionResult, SectionResult]
  const first = run(60, { sections: [issuance, { ...checks, targets: [target] }] })
  const text = [
    `It takes 9.99<!-- ${RATIO} --> (1<!-- least of ${RATIO} --> to 1.0<!-- most of ${RATIO} -->), 0.1<!-- checks: fast -->, 7 s.`,
    '<!-- missed targets -->Old.',
    'A check: 1<!-- checks: verify: CPU --> µs.',
  ].join('\n')
  const figures = publishedOf([first, run(88)], namesIn(text))
  const shown = filled(text, figures).replaceAll(/<!-- [^>]+ -->/g, '')
  t.equal(shown, 'It takes 0.75 (1 to 1.1), 1.2, 7 s.\nMissed targets: checks: fast (1.23).\nA check: 20 µs.')
  t.match(filled(text, { ...figures, missed: [] }), '-->All targets are met.')
  t.throws(() => publishedOf([first], ['checks: verfy: CPU']), /No run has the figure checks: verfy: CPU/)
  t.throws(() => filled('1<!-- a: b -->', figures), /No figure is called a: b/)
})

t.test('Bench: a request is dearer than in the last release if most rounds of each run say so', async (t) => {
  const one = (name: string, median: number, lowerQuartile: number) => {
    return {
      name,
      toOther: { requestsPerSecond: null, cpuMicroseconds: { median, lowerQuartile, least: 0.9, most: 1.2 } },
    }
  }
  const rows = [
    one('token', 1.031, 1.001),
    one('check', 1.03, 1.02),
    one('wrong secret', 1.1, 1),
    { name: 'mix', toOther: null },
  ]
  t.strictSame(dearer([rows]), ['token (1.031 times the CPU time)'])
  t.strictSame(dearer([rows, [one('token', 1.1, 1.01)]]), ['token (1.031 times the CPU time)'])
  t.strictSame(dearer([rows, [one('token', 1.03, 1.01), one('check', 1.1, 1.1)]]), [])
})

t.test('Bench: the median and the lower quartile of a ratio are those of the rounds', async (t) => {
  const of = (...cpu: number[]) => ({ rounds: cpu.map((cpuMicroseconds) => ({ cpuMicroseconds })) }) as unknown as Row
  const ratio = cpuRatio(of(30, 10, 20, 50, 40), of(10, 10, 10, 10, 10))
  t.strictSame(ratio, { median: 3, least: 1, most: 5, lowerQuartile: 2 })
})

const documents = DOCUMENTS.map((file) => [file, read(file)] as const)

t.test('Docs: every figure of the published run is what docs/performance/results.json says', async (t) => {
  const published: Published = JSON.parse(read(PUBLISHED))
  for (const [file, text] of documents) t.equal(filled(text, published), text, file)
  const names = documents.flatMap(([, text]) => namesIn(text))
  t.strictSame(new Set(Object.keys(published.figures)), new Set(names), 'it has these and no others')

  const results = read('docs/performance/results.md')
  t.match(results, `Measured on ${published.startedAt.slice(0, 10)}: ${describeMachine(published.machine)}.`)
  const missed = [...results.matchAll(/^(.+?) {2,}(\S.*?) {2,}.*MISSED$/gm)].map(
    ([, asked, value]) => `${asked} (${value})`,
  )
  t.strictSame(published.missed, missed)
})

t.test('Docs: a measured figure has its name, or says which experiment it is of', async (t) => {
  const performance = unnamed(read('docs/performance.md').split(/\n\n|\n(?=- )/))
  const measured = read('docs/scale.md')
    .split('\n')
    .filter((line) => line.includes('| measured'))
  t.ok(measured.length > 1)
  t.strictSame([...performance, ...unnamed(measured)], [])
  t.strictSame(unnamed(['It takes 1.2 times.', '3 µs', '5 % and [this](7 %)', '1.2<!-- a: b -->', '20,000 of 8']), [
    '1.2',
    '3 µs',
    '5 %',
  ])
})

/** The figures in these paragraphs that have no mark, but for those that belong to an experiment. */
function unnamed(paragraphs: string[]): string[] {
  return paragraphs
    .filter((paragraph) => !paragraph.includes('](performance/experiments.md#'))
    .flatMap(
      (paragraph) =>
        paragraph
          .replace(/^<!-- missed targets -->[^\n]*|`[^`]*`|\]\([^)]*\)|[\d.,]+<!--.*?-->/gms, '')
          .match(/\d+\.\d+|\d+ (?:µs|ms|s|%|MiB|times)\b|\d+ %/g) ?? [],
    )
}
