import type { Bench, Findings, Section } from '../bench.ts'
import { tokenRequest } from '../requests.ts'

/** Whether many applications are slower than one. */
export const applications: Section = {
  name: 'applications',
  title: 'Issuing to 20,000 applications, 64 connections',
  contenders: 2,
  preparation: 10,
  run,
}

async function run(bench: Bench): Promise<Findings> {
  const data = bench.data('applications', bench.size(20_000, 500))
  const count = data.applications.length
  const server = await bench.ours(data)
  const one = bench.group(64, [tokenRequest(data.applications[0])])
  const all = bench.group(
    64,
    data.applications.map((application) => tokenRequest(application)),
  )
  const rows = await bench.measure([
    { name: 'one application', server, groups: [one] },
    { name: 'all applications', server, groups: [all], base: 'one application' },
  ])
  const notes = [`seed registered ${count} applications in ${data.seedSeconds.toFixed(1)} s.`]
  return { rows, figures: { 'seconds to register': data.seedSeconds }, notes }
}
