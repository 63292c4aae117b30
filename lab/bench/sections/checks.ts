import { randomBytes } from 'node:crypto'
import type { Bench, Running } from '../bench.ts'
import { cpuRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { peerClient } from '../servers/peer.ts'
import { atMost } from '../targets.ts'
import type { Credentials } from '../world/checkout.ts'
import { introspectRequest, verifyRequest } from '../world/requests.ts'
import type { Server } from '../world/server-process.ts'
import { issueTokens } from '../world/single-requests.ts'

/** Checks per second, by gateways and by suites. */
export const checks = defineSection({
  name: 'checks',
  title: 'Checking 10,000 tokens, 64 connections',
  contenders: 9,
  others: 3,
  preparation: 6,
  run,
  targets: [
    {
      asked: 'verify at most 1.25 times the CPU time of the simplest durable issuer on Fastify',
      value: ({ verify, simplestFastify }) => cpuRatio(verify, simplestFastify),
      isMet: atMost(1.25),
    },
    {
      asked: 'verify at most 1.25 times the CPU time of the simplest durable issuer on node:http',
      value: ({ verify, simplestBare }) => cpuRatio(verify, simplestBare),
      isMet: atMost(1.25),
    },
    {
      asked: 'verify an unknown token at most 1.5 times the CPU time of the simplest durable issuer on Fastify',
      value: ({ unknown, unknownFastify }) => cpuRatio(unknown, unknownFastify),
      isMet: atMost(1.5),
    },
    {
      asked: 'verify an unknown token at most 1.5 times the CPU time of the simplest durable issuer on node:http',
      value: ({ unknown, unknownBare }) => cpuRatio(unknown, unknownBare),
      isMet: atMost(1.5),
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
  const [onFastify, onBare] = [await simplest(bench, 'fastify'), await simplest(bench, 'bare')]
  const rows = await bench.measure({
    verify: { name: 'verify', ...own.verify, base: 'simplestFastify', other: others?.verify },
    simplestFastify: { name: 'simplest on Fastify', ...onFastify.verify },
    simplestBare: { name: 'simplest on node:http', ...onBare.verify, base: 'simplestFastify' },
    constantGet: { name: 'constant GET', ...own.verify, server: constant, base: 'simplestFastify' },
    unknown: { name: 'verify an unknown token', ...own.unknown, base: 'unknownFastify', other: others?.unknown },
    unknownFastify: { name: 'simplest on Fastify, unknown token', ...onFastify.unknown },
    unknownBare: { name: 'simplest on node:http, unknown token', ...onBare.unknown, base: 'unknownFastify' },
    introspect: { name: 'introspect', ...own.introspect, base: 'constantPost', other: others?.introspect },
    constantPost: { name: 'constant POST', ...own.introspect, server: constant },
  })
  return { rows }
}

/** A server with each kind of check, for tokens that it issued. */
export async function contendersOf(bench: Bench, { server, data }: Running) {
  const { accessTokens, ...checked } = await checksOf(bench, server, data.applications[0])
  const introspections = accessTokens.map((one) => introspectRequest(data.suite, one))
  return { ...checked, introspect: { server, ...bench.load(CONNECTIONS, introspections) } }
}

async function simplest(bench: Bench, on: 'fastify' | 'bare') {
  return checksOf(bench, await bench.simplest(on), peerClient)
}

async function checksOf(bench: Bench, server: Server, application: Credentials) {
  const count = bench.size(10_000, 1000)
  bench.step(`issues ${count} tokens`)
  const accessTokens = await issueTokens(server.port, application, count)
  // As if the purge had deleted them: the times in their ids are right, the ids are not.
  const unknown = accessTokens.map((one) => one.slice(0, 8) + randomBytes(42).toString('base64url'))
  return {
    accessTokens,
    verify: { server, ...bench.load(CONNECTIONS, accessTokens.map(verifyRequest)) },
    unknown: { server, ...bench.load(CONNECTIONS, unknown.map(verifyRequest), 401) },
  }
}
