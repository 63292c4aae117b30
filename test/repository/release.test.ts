import { globSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { NODE, nodeComponents } from '../../lab/release/node.ts'
import { VERSION } from '../../src/version.ts'
import { ROOT, read } from './files.ts'

interface Step {
  uses?: string
  with?: Record<string, unknown>
}

interface Job {
  permissions?: Record<string, string>
  steps: Step[]
}

const jobs = globSync('.github/workflows/*.yml', { cwd: ROOT }).flatMap((file) => {
  const { permissions, jobs } = parse(read(file)) as { permissions: Record<string, string>; jobs: Record<string, Job> }
  return Object.entries(jobs).map(([name, job]) => ({ name: `${file}: ${name}`, permissions, ...job }))
})

t.test('Workflows: every action is a commit, and no checkout keeps the credentials', async (t) => {
  const steps = jobs.flatMap(({ name, steps }) => steps.map((step) => ({ name, ...step })))
  const actions = steps.filter(({ uses }) => uses !== undefined)
  for (const { name, uses } of actions) t.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, name)
  const checkouts = actions.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'))
  t.ok(checkouts.length > 3)
  for (const { name, with: options } of checkouts) t.equal(options?.['persist-credentials'], false, name)
})

t.test('Workflows: what may write to the repository runs nothing of it', async (t) => {
  const writers = jobs.filter(({ permissions }) => permissions.contents === 'write')
  t.equal(writers.length, 1)
  const usesOf = ({ steps }: Job) => steps.map(({ uses = '' }) => uses.replace(/@.*/, ''))
  for (const job of writers) t.notOk(usesOf(job).includes('actions/checkout'), job.name)
})

t.test('Release: the recorded Node.js is that of package-lock.json, with a sum for each processor', async (t) => {
  const { packages } = JSON.parse(read('package-lock.json'))
  t.equal(NODE.version, packages['node_modules/node'].version, 'record the new one: lab/release/README.md')
  t.strictSame(Object.keys(NODE.sums), ['x64', 'arm64'])
  for (const { hashes } of nodeComponents) t.match(hashes, [{ alg: 'SHA-256', content: /^[0-9a-f]{64}$/ }])
})

t.test('Image: its labels say what package.json says', async (t) => {
  const labels = [...read('Dockerfile').matchAll(/org\.opencontainers\.image\.(\w+)="(.*?)"/g)]
  const { description, license: licenses } = JSON.parse(read('package.json'))
  const expected = { title: 'token-server', description, version: VERSION, revision: '$REVISION', licenses }
  t.strictSame(Object.fromEntries(labels.map(([, name, value]) => [name, value])), expected)
})
