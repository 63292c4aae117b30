import { randomBytes } from 'node:crypto'
import type { Bench, Running } from '../bench.ts'
import { speedRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atLeast } from '../targets.ts'
import { introspectRequest, verifyRequest } from '../world/requests.ts'
import { issueTokens } from '../world/single-requests.ts'

/** Checks per second, by gateways and by suites. */
export const checks = defineSection({
  name: 'checks',
  title: 'Checking 10,000 tokens, 64 connections',
  contenders: 5,
  others: 3,
  preparation: 6,
  run,
  targets: [
    {
      asked: 'verify at least 0.80 of the constant GET',
      value: ({ verify, constantGet }) => speedRatio(verify, constantGet),
      isMet: atLeast(0.8),
    },
    {
      asked: 'introspect at least 0.70 of the constant POST',
      value: ({ introspect, constantPost }) => speedRatio(introspect, constantPost),
      isMet: atLeast(0.7),
    },
  ],
  plots: [{ file: 'checks.svg', title: 'Checks per second, 64 connections, one core', bars: 'speed' }],
})

const CONNECTIONS = 64

async function run(bench: Bench) {
  const { ours, other } = await bench.versions('checks')
  const constant = await bench.constant()
  const own = await contendersOf(bench, ours)
  const others = other && (await contendersOf(bench, other))
  const rows = await bench.measure({
    verify: { name: 'verify', ...own.verify, base: 'constantGet', other: others?.verify },
    constantGet: { name: 'constant GET', ...own.verify, server: constant },
    introspect: { name: 'introspect', ...own.introspect, base: 'constantPost', other: others?.introspect },
    constantPost: { name: 'constant POST', ...own.introspect, server: constant },
    unknown: { name: 'verify an unknown token', ...own.unknown, base: 'constantGet', other: others?.unknown },
  })
  return { rows }
}

/** A server with each kind of check, for tokens that it issued. */
async function contendersOf(bench: Bench, { server, data }: Running) {
  const count = bench.size(10_000, 1000)
  bench.step(`issues ${count} tokens`)
  const accessTokens = await issueTokens(server.port, data.applications[0], count)
  const unknown = accessTokens.map((one) => one.slice(0, 22) + randomBytes(42).toString('base64url').slice(0, 42))
  const introspections = accessTokens.map((one) => introspectRequest(data.suite, one))
  return {
    verify: { server, ...bench.load(CONNECTIONS, accessTokens.map(verifyRequest)) },
    introspect: { server, ...bench.load(CONNECTIONS, introspections) },
    unknown: { server, ...bench.load(CONNECTIONS, unknown.map(verifyRequest), 401) },
  }
}
