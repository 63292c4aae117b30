import { spawnSync } from 'node:child_process'
import t from 'tap'

/** A program that prints, of each file on its standard input, how long the error is, and a line of it. */
const PARSE = `
  import { json } from 'node:stream/consumers'
  import { parseApplyFile } from '${import.meta.resolve('../../src/administration/apply-file.ts')}'
  for (const [name, text] of Object.entries(await json(process.stdin))) {
    try { parseApplyFile('a.yaml', text) }
    catch ({ message }) { console.log(name, Math.ceil(message.length / 1e6), 'MB', message.split('\\n').findLast((line) => /alias|more/.test(line))) }
  }`

t.test('Apply: a bomb of aliases or merge keys is refused at the cost of a file of its size', async (t) => {
  const repeat = (count: number, one: (n: number) => string | number) => Array.from({ length: count }, (_, n) => one(n))
  const chain = (levels: number, first: string, next: (name: string) => string) =>
    [`a0: &a0 ${first}`, ...repeat(levels, (n) => `a${n + 1}: &a${n + 1} ${next(`*a${n}`)}`)].join('\n')
  const many = (field: string) => repeat(900, () => `- {${field}}`).join('\n')
  const wide = `{${repeat(5000, (n) => `k${n}: 1`)}}`
  const bombs = {
    lists: chain(30, '[x]', (a) => `[${Array(10).fill(a)}]`),
    'merge keys': chain(40, '{ x: 1 }', (a) => `{ <<: [${a}, ${a}] }`),
    'merge keys in merge keys': chain(40, '{ x: 1 }', (a) => `{ <<: { <<: [${a}, ${a}] } }`),
    'merge keys of a list': `${chain(40, '[{ x: 1 }]', (a) => `[{ <<: ${a} }, { <<: ${a} }]`)}`,
    'tagged merge keys': chain(40, '{ x: 1 }', (a) => `{ !!merge m: [${a}, ${a}] }`),
    'a wide map': `a: &a ${wide}\nb: [${repeat(4000, () => '{ <<: *a }')}]`,
    'a long list of empty maps': `a: &a [${repeat(5000, () => '{}')}]\nb: [${repeat(5000, () => '{ <<: *a }')}]`,
    'a list as a key': `${chain(30, '[x]', (a) => `[${Array(10).fill(a)}]`)}\nb: { ? *a30 : 1 }`,
  }
  const problems = {
    'a list without a text in it': `applications:\n- {suites: &a [${repeat(1000, () => 1)}]}\n${many('suites: *a')}`,
    'a long key': `applications:\n- &a {${'k'.repeat(50_000)}: 1}\n${many('<<: *a')}`,
  }
  const ended = spawnSync(process.execPath, ['--max-old-space-size=300', '--input-type=module', '-e', PARSE], {
    input: JSON.stringify({ ...bombs, ...problems }),
    encoding: 'utf8',
    timeout: 120_000,
  })
  t.equal(ended.status, 0, ended.stderr)
  t.strictSame(ended.stdout.trimEnd().split('\n'), [
    ...Object.keys(bombs).map((name) => `${name} 1 MB   a.yaml:1:1 Its aliases repeat more than 1,000,000 values`),
    ...Object.keys(problems).map((name) => `${name} 1 MB   There are more.`),
  ])
})
