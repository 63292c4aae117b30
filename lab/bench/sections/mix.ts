import type { Bench } from '../bench.ts'
import { defineSection } from '../section.ts'
import { tokenRequest, verifyRequest } from '../world/requests.ts'
import { issueTokens } from '../world/single-requests.ts'

/** What a gateway and its clients ask together. */
export const mix = defineSection({
  name: 'mix',
  title: 'Ten checks per issuance, 64 connections',
  contenders: 2,
  preparation: 4,
  run,
})

async function run(bench: Bench) {
  const data = bench.data('mix')
  const application = data.applications[0]
  const server = await bench.serve(data)
  const accessTokens = await issueTokens(server.port, application, bench.size(10_000, 1000))
  const load = bench.mixedLoad(64, accessTokens.map(verifyRequest), [tokenRequest(application)])
  const rows = await bench.measure({
    ours: { name: 'this server', server, ...load, base: 'constant' },
    constant: { name: 'constant Fastify', server: await bench.constant(), ...load },
  })
  return { rows }
}
