import type { Bench } from '../bench.ts'
import { cpuRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atMost } from '../targets.ts'
import { tokenRequest, verifyRequest } from '../world/requests.ts'
import { issueTokens } from '../world/single-requests.ts'

/** What counting costs: servers with OPS_ADDRESS and without, and one more without, which shows how far equals differ. */
export const metrics = defineSection({
  name: 'metrics',
  title: 'Metrics on against off, 64 connections',
  contenders: 6,
  preparation: 10,
  run,
  targets: [
    {
      asked: 'a check with metrics at most 1.01 times the CPU time',
      value: ({ verifyOn, verifyOff }) => cpuRatio(verifyOn, verifyOff),
      isMet: atMost(1.01),
    },
    {
      asked: 'a token with metrics at most 1.01 times the CPU time',
      value: ({ issueOn, issueOff }) => cpuRatio(issueOn, issueOff),
      isMet: atMost(1.01),
    },
  ],
})

const CONNECTIONS = 64

async function run(bench: Bench) {
  const off = await withOps(bench, 'off')
  const on = await withOps(bench, '127.0.0.1:0')
  const again = await withOps(bench, 'off', 'again')
  const rows = await bench.measure({
    verifyOff: { name: 'verify', ...off.verify },
    verifyOn: { name: 'verify, metrics', ...on.verify, base: 'verifyOff' },
    verifyAgain: { name: 'verify, another server', ...again.verify, base: 'verifyOff' },
    issueOff: { name: 'issue', ...off.issue },
    issueOn: { name: 'issue, metrics', ...on.issue, base: 'issueOff' },
    issueAgain: { name: 'issue, another server', ...again.issue, base: 'issueOff' },
  })
  const ratios = [
    ['check', 'metrics', cpuRatio(rows.verifyOn, rows.verifyOff)],
    ['check', 'another server', cpuRatio(rows.verifyAgain, rows.verifyOff)],
    ['token', 'metrics', cpuRatio(rows.issueOn, rows.issueOff)],
    ['token', 'another server', cpuRatio(rows.issueAgain, rows.issueOff)],
  ] as const
  const notes = ratios.map(
    ([what, against, ratio]) => `CPU time of a ${what}, ${against}: ${ratio?.median.toFixed(3)}.`,
  )
  return { rows, notes }
}

/** A server with this OPS_ADDRESS, and the requests for it. */
async function withOps(bench: Bench, address: string, name = address === 'off' ? 'off' : 'on') {
  const data = bench.data(`metrics-${name}`)
  const application = data.applications[0]
  const server = await bench.serve(data, { env: { OPS_ADDRESS: address } })
  const accessTokens = await issueTokens(server.port, application, bench.size(10_000, 1000))
  return {
    verify: { server, ...bench.load(CONNECTIONS, accessTokens.map(verifyRequest)) },
    issue: { server, ...bench.load(CONNECTIONS, [tokenRequest(application)]) },
  }
}
