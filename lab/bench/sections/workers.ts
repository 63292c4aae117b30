import type { Bench } from '../bench.ts'
import { cpuRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atMost } from '../targets.ts'
import { tokenRequest, verifyRequest } from '../world/requests.ts'
import { issueTokens } from '../world/single-requests.ts'

/** What a second worker costs, and whether a rolling restart drops requests. */
export const workers = defineSection({
  name: 'workers',
  title: 'Two workers against one, 64 connections in all or for each of them',
  contenders: 7,
  preparation: 15,
  run,
  targets: [
    {
      asked: '2 workers issue with at most 1.15 times the CPU time per request',
      value: ({ issueTwo, issueOne }) => cpuRatio(issueTwo, issueOne),
      isMet: atMost(1.15),
    },
    {
      asked: '2 workers with 64 connections each issue with at most 1.15 times the CPU time per request',
      value: ({ issueTwoEach, issueOne }) => cpuRatio(issueTwoEach, issueOne),
      isMet: atMost(1.15),
    },
    {
      asked: '2 workers verify with at most 1.15 times the CPU time per request',
      value: ({ verifyTwo, verifyOne }) => cpuRatio(verifyTwo, verifyOne),
      isMet: atMost(1.15),
    },
    {
      asked: '2 workers with 64 connections each verify with at most 1.15 times the CPU time per request',
      value: ({ verifyTwoEach, verifyOne }) => cpuRatio(verifyTwoEach, verifyOne),
      isMet: atMost(1.15),
    },
    {
      asked: 'no request dropped by rolling restarts',
      value: (rows) => rows['restarts verify'].errors + rows['restarts issue'].errors,
      isMet: atMost(0),
    },
  ],
})

async function run(bench: Bench) {
  const one = await withWorkers(bench, 1)
  const two = await withWorkers(bench, 2)
  const rows = await bench.measure({
    issueOne: { name: 'issue (1 worker)', server: one.server, ...bench.load(64, one.issue) },
    issueTwo: { name: 'issue (2 workers)', server: two.server, ...bench.load(64, two.issue), base: 'issueOne' },
    issueTwoEach: {
      name: 'issue (2 workers, 64 each)',
      server: two.server,
      ...bench.load(128, two.issue),
      base: 'issueOne',
    },
    verifyOne: { name: 'verify (1 worker)', server: one.server, ...bench.load(64, one.verify) },
    verifyTwo: { name: 'verify (2 workers)', server: two.server, ...bench.load(64, two.verify), base: 'verifyOne' },
    verifyTwoEach: {
      name: 'verify (2 workers, 64 each)',
      server: two.server,
      ...bench.load(128, two.verify),
      base: 'verifyOne',
    },
  })

  // Apart from the others, because new workers are slow at first.
  const restarts = await bench.measure({
    restarts: {
      name: 'rolling restarts',
      server: two.server,
      groups: { verify: bench.group(64, two.verify), issue: bench.group(64, two.issue) },
      before: () => void two.server.signal('SIGHUP'),
    },
  })
  const notes = [
    'These servers are not pinned to a core: they share one with the load program.',
    'Rolling restarts: SIGHUP to the leader at the beginning of every round.',
  ]
  return { rows: { ...rows, ...restarts }, notes }
}

/** A server with this number of workers, and the requests for it. */
async function withWorkers(bench: Bench, workers: number) {
  const data = bench.data(`workers-${workers}`)
  const application = data.applications[0]
  const server = await bench.serve(data, { env: { WORKERS: String(workers) }, pin: false })
  const accessTokens = await issueTokens(server.port, application, bench.size(10_000, 1000))
  return { server, issue: [tokenRequest(application)], verify: accessTokens.map(verifyRequest) }
}
