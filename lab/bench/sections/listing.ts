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
  contenders: 6,
  preparation: 24,
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
      value: ({ clicking, quiet }) => clicking.p99 / quiet.p99,
      isMet: atMost(1.1),
    },
    {
      asked: 'p99 of a token with 2 workers at most 1.1 times that without, while an operator does the same',
      value: ({ clickingTwo, quietTwo }) => clickingTwo.p99 / quietTwo.p99,
      isMet: atMost(1.1),
    },
  ],
})

const CONNECTIONS = 64

async function run(bench: Bench) {
  const one = await withConsole(bench, 1)
  const two = await withConsole(bench, 2)
  const lists = QUERIES.map((query) => adminRequest(`/admin/v1/applications?${query}`, one.adminKey))
  const operator = { ...bench.group(1, lists), port: one.adminPort }
  const listings: Turn['groups'] = []
  const listed = await bench.measure({
    without: { name: 'without', ...one.tokens },
    listing: {
      name: 'while listing',
      ...one.tokens,
      base: 'without',
      background: [operator],
      after: ({ groups }) => void listings.push(...groups.slice(1)),
    },
  })
  const failed = listings.filter(({ unexpected, broken, answered }) => unexpected + broken > 0 || answered === 0)
  if (failed.length > 0) throw new Error(`listing failed: ${JSON.stringify(failed)}`)

  const clicked = await bench.measure(
    {
      quiet: { name: 'without clicks', ...one.tokens },
      clicking: { name: 'while an operator clicks', ...one.tokens, base: 'quiet', ...one.clicks },
      quietTwo: { name: '2 workers, without clicks', ...two.tokens },
      clickingTwo: { name: '2 workers, while an operator clicks', ...two.tokens, base: 'quietTwo', ...two.clicks },
    },
    { isInWholeSeconds: true },
  )
  return {
    rows: { ...listed, ...clicked },
    notes: ['2 workers and their leader, which has the console, share one core.'],
  }
}

/** A server with an operator at its console. */
async function withConsole(bench: Bench, workers: number) {
  const data = bench.data(`listing-${workers}`, bench.size(20_000, 500))
  const adminPort = await freePort()
  const env = { ADMIN_ADDRESS: `127.0.0.1:${adminPort}`, WORKERS: String(workers) }
  const server = await bench.serve(data, { env })
  const adminKey = bench.adminKey(data)
  const tokens = { server, ...bench.load(CONNECTIONS, [tokenRequest(data.applications[0])]) }
  return { adminKey, adminPort, tokens, clicks: clicksOf(adminPort, await bench.consoleSession(data, adminPort)) }
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
    before: () => {
      timer = setInterval(click, 1000)
      void click()
    },
    after: async () => {
      clearInterval(timer)
      await setTimeout(500)
      if (answered < clicked) throw new Error(`Only ${answered} of ${clicked} pages of the console were shown`)
    },
  }
}
