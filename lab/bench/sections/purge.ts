import type { Bench } from '../bench.ts'
import { speedRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atLeast, atMost } from '../targets.ts'
import { countExpired, fillExpired } from '../world/fill.ts'
import { tokenRequest } from '../world/requests.ts'
import type { Server } from '../world/server-process.ts'

/** What the purge of expired tokens costs those who ask for new ones. */
export const purge = defineSection({
  name: 'purge',
  title: 'Issuing while expired tokens are purged, 64 connections',
  contenders: 2,
  preparation: 10,
  run,
  targets: [
    {
      asked: 'at least 0.90 of the speed without',
      value: ({ purging, without }) => speedRatio(purging, without),
      isMet: atLeast(0.9),
    },
    {
      asked: 'p99 at most 20 ms longer',
      value: ({ purging, without }) => purging.p99 - without.p99,
      isMet: atMost(20),
    },
  ],
})

const CONNECTIONS = 64

/** More than the purge deletes, as it pauses between its batches: it must not end before the last round. */
const EXPIRED_PER_SECOND = 150_000
const MINIMUM = 200_000

async function run(bench: Bench) {
  const full = bench.data('full')
  const clean = bench.data('clean')
  const count = Math.max(MINIMUM, bench.loadSeconds * EXPIRED_PER_SECOND)
  bench.step(`writes ${count} expired tokens`)
  fillExpired(full.file, count)
  const purging = await bench.serve(full)
  const without = await bench.serve(clean)
  const left = [count]
  const rows = await bench.measure({
    purging: {
      name: 'while purging',
      server: purging,
      ...bench.load(CONNECTIONS, [tokenRequest(full.applications[0])]),
      base: 'without',
      ...runningInTurn(purging, () => left.push(countExpired(full.file))),
    },
    without: {
      name: 'without',
      server: without,
      ...bench.load(CONNECTIONS, [tokenRequest(clean.applications[0])]),
    },
  })
  if (left.some((count, at) => at > 0 && count >= (left[at - 1] as number))) {
    throw new Error(`the purge ended before the last round, or never began: ${left.join(', ')} expired tokens`)
  }
  return { rows, notes: [`Expired tokens after each turn of the purging server: ${left.join(', ')}.`] }
}

/** Suspends a server outside of its own turns: otherwise it would purge during the others', on the same core. */
function runningInTurn(server: Server, onSuspended: () => void) {
  server.signal('SIGSTOP')
  return {
    before: () => void server.signal('SIGCONT'),
    after: () => {
      server.signal('SIGSTOP')
      onSuspended()
    },
  }
}
