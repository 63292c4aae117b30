import { randomBytes } from 'node:crypto'
import type { Bench, Findings, Section } from '../bench.ts'
import { introspectRequest, verifyRequest } from '../requests.ts'
import { issueTokens } from '../tokens.ts'

/** Checks a second, by gateways and by suites. */
export const checks: Section = {
  name: 'checks',
  title: 'Checking 10,000 tokens, 64 connections',
  contenders: 5,
  preparation: 6,
  run,
}

const CONNECTIONS = 64

async function run(bench: Bench): Promise<Findings> {
  const data = bench.data('checks')
  const server = await bench.ours(data)
  const constant = await bench.other('constant')
  const count = bench.size(10_000, 1000)
  bench.step(`issues ${count} tokens`)
  const tokens = await issueTokens(server.port, data.applications[0], count)
  const unknown = tokens.map((token) => token.slice(0, 22) + randomBytes(42).toString('base64url').slice(0, 42))

  const verify = bench.group(CONNECTIONS, tokens.map(verifyRequest))
  const introspect = bench.group(
    CONNECTIONS,
    tokens.map((token) => introspectRequest(data.suite, token)),
  )
  const refused = bench.group(CONNECTIONS, unknown.map(verifyRequest), 401)
  const rows = await bench.measure([
    { name: 'verify', server, groups: [verify], base: 'constant GET' },
    { name: 'constant GET', server: constant, groups: [verify] },
    { name: 'introspect', server, groups: [introspect], base: 'constant POST' },
    { name: 'constant POST', server: constant, groups: [introspect] },
    { name: 'verify an unknown token', server, groups: [refused], base: 'constant GET' },
  ])
  return { rows }
}
