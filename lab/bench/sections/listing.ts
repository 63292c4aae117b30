import { freePort } from '../../../test/support/free-port.ts'
import type { Bench } from '../bench.ts'
import type { Turn } from '../row.ts'
import { defineSection } from '../section.ts'
import { atMost } from '../targets.ts'
import { adminRequest, tokenRequest } from '../world/requests.ts'

/** How much an operator who searches many applications slows down token requests to the same process. */
export const listing = defineSection({
  name: 'listing',
  title: 'Issuing while an operator lists and searches 20,000 applications without a pause, 64 connections',
  contenders: 2,
  preparation: 12,
  run,
  targets: [
    {
      asked: 'p99 of a token at most 1.2 times that without',
      value: ({ listing, without }) => listing.p99 / without.p99,
      isMet: atMost(1.2),
    },
  ],
})

const CONNECTIONS = 64

async function run(bench: Bench) {
  const data = bench.data('listing', bench.size(20_000, 500))
  const adminPort = await freePort()
  const server = await bench.serve(data, { env: { ADMIN_ADDRESS: `127.0.0.1:${adminPort}` } })
  const token = bench.load(CONNECTIONS, [tokenRequest(data.applications[0])])
  const adminKey = bench.adminKey(data)
  const lists = QUERIES.map((query) => adminRequest(`/admin/v1/applications?${query}`, adminKey))
  const operator = { ...bench.group(1, lists), port: adminPort }
  const listings: Turn['groups'] = []
  const rows = await bench.measure({
    without: { name: 'without', server, ...token },
    listing: {
      name: 'while listing',
      server,
      ...token,
      base: 'without',
      background: [operator],
      after: ({ groups }) => void listings.push(...groups.slice(1)),
    },
  })
  const failed = listings.filter(({ unexpected, broken, answered }) => unexpected + broken > 0 || answered === 0)
  if (failed.length > 0) throw new Error(`listing failed: ${JSON.stringify(failed)}`)
  return { rows, notes: [] }
}

/** Various page sizes, and words that many, few or no names contain; without a match all names are read. */
const QUERIES = [
  '',
  'limit=200',
  'search=application+1',
  'search=19999',
  'search=nobody+is+called+this',
  'status=suspended',
  'search=partner&limit=200',
]
