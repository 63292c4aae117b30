import type { Bench, Findings, Section } from '../bench.ts'
import type { Server } from '../process.ts'
import { tokenRequest } from '../requests.ts'
import { countExpired, fillExpired } from '../rows.ts'

/** What the purge of expired tokens takes from those who ask for new ones. */
export const purge: Section = {
  name: 'purge',
  title: 'Issuing while expired tokens are purged, 64 connections',
  contenders: 2,
  preparation: 10,
  run,
}

/** So many expired tokens that the purge never ends while it is measured: it pauses 10 ms after every 500. */
const PURGED_PER_SECOND = 60_000
const LEAST = 200_000

async function run(bench: Bench): Promise<Findings> {
  const full = bench.data('full')
  const clean = bench.data('clean')
  const count = Math.max(LEAST, bench.loadSeconds * PURGED_PER_SECOND)
  bench.step(`writes ${count} expired tokens`)
  fillExpired(full.file, count)
  const purging = await bench.ours(full)
  const other = await bench.ours(clean)
  const left = [count]
  const rows = await bench.measure([
    {
      name: 'while purging',
      server: purging,
      groups: [bench.group(64, [tokenRequest(full.applications[0])])],
      base: 'without',
      ...running(purging, () => left.push(countExpired(full.file))),
    },
    { name: 'without', server: other, groups: [bench.group(64, [tokenRequest(clean.applications[0])])] },
  ])
  if (left.some((rows, at) => at > 0 && rows >= (left[at - 1] as number))) {
    throw new Error(`the purge ended before its last round, or never began: ${left.join(', ')} expired tokens`)
  }
  return { rows, notes: [`Expired tokens after each turn of the purging server: ${left.join(', ')}.`] }
}

/** A server that runs only in its own turns: it would purge in the others' too, and on the same core. */
function running(server: Server, andThen: () => void) {
  server.signal('SIGSTOP')
  return {
    before: () => void server.signal('SIGCONT'),
    after: () => {
      server.signal('SIGSTOP')
      andThen()
    },
  }
}
