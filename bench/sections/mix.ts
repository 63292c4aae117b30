import type { Bench, Findings, Section } from '../bench.ts'
import { tokenRequest, verifyRequest } from '../requests.ts'
import { issueTokens } from '../tokens.ts'

/** What a gateway and its clients ask together. */
export const mix: Section = {
  name: 'mix',
  title: 'Ten checks to one issuance, 64 connections',
  contenders: 2,
  preparation: 4,
  run,
}

async function run(bench: Bench): Promise<Findings> {
  const data = bench.data('mix')
  const application = data.applications[0]
  const server = await bench.ours(data)
  const constant = await bench.other('constant')
  const tokens = await issueTokens(server.port, application, bench.size(10_000, 1000))
  const group = bench.mixed(64, tokens.map(verifyRequest), [tokenRequest(application)])
  const rows = await bench.measure([
    { name: 'this server', server, groups: [group], base: 'constant Fastify' },
    { name: 'constant Fastify', server: constant, groups: [group] },
  ])
  return { rows }
}
