import type { Bench } from '../bench.ts'
import { speedRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atLeast } from '../targets.ts'
import { tokenRequest } from '../world/requests.ts'

/** Whether many applications are slower than one. */
export const applications = defineSection({
  name: 'applications',
  title: 'Issuing to 20,000 applications, 64 connections',
  contenders: 2,
  preparation: 10,
  run,
  targets: [
    {
      asked: '20,000 applications at least 0.90 of one',
      value: ({ all, one }) => speedRatio(all, one),
      isMet: atLeast(0.9),
    },
  ],
})

const CONNECTIONS = 64

async function run(bench: Bench) {
  const data = bench.data('applications', bench.size(20_000, 500))
  const server = await bench.serve(data)
  const requests = data.applications.map((application) => tokenRequest(application))
  const rows = await bench.measure({
    one: { name: 'one application', server, ...bench.load(CONNECTIONS, requests.slice(0, 1)) },
    all: { name: 'all applications', server, ...bench.load(CONNECTIONS, requests), base: 'one' },
  })
  return { rows, notes: [`seed registered ${requests.length} applications in ${data.seedSeconds.toFixed(1)} s.`] }
}
