import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import type { Bench } from '../bench.ts'
import type { Turn } from '../row.ts'
import { defineSection } from '../section.ts'
import { atMost } from '../targets.ts'
import { adminRequest, tokenRequest } from '../world/requests.ts'

/** How much operators slow down token requests to the same process: a program that lists and searches, and a person at the console. */
export const listing = defineSection({
  name: 'listing',
  title: 'Issuing while an operator lists and searches 20,000 applications without a pause, 64 connections',
  contenders: 3,
  preparation: 12,
  run,
  targets: [
    {
      asked: 'p99 of a token at most 1.2 times that without',
      value: ({ listing, without }) => listing.p99 / without.p99,
      isMet: atMost(1.2),
    },
    {
      asked:
        'p99 of a token at most 1.1 times that without, while an operator opens a page of the console every second',
      value: ({ clicking, without }) => clicking.p99 / without.p99,
      isMet: atMost(1.1),
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
  const clicks = clicksOf(adminPort, await bench.consoleSession(data, adminPort))
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
    clicking: {
      name: 'while an operator clicks',
      server,
      ...token,
      base: 'without',
      before: clicks.begin,
      after: clicks.end,
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

const PAGES = [
  '/',
  '/applications',
  '/applications?search=19999',
  '/refusals',
  '/secrets',
  '/audit',
  '/search?q=partner',
]

/** Opens a page of the console every second. */
function clicksOf(port: number, cookie: string) {
  let [clicked, answered] = [0, 0]
  let timer: ReturnType<typeof setInterval>
  async function click() {
    const page = PAGES[clicked++ % PAGES.length]
    const { ok } = await fetch(`http://127.0.0.1:${port}${page}`, { headers: { cookie }, redirect: 'error' })
    if (ok) answered++
  }
  return {
    begin: () => {
      timer = setInterval(click, 1000)
      void click()
    },
    end: async () => {
      clearInterval(timer)
      await setTimeout(500)
      if (answered < clicked) throw new Error(`Only ${answered} of ${clicked} pages of the console were shown`)
    },
  }
}
