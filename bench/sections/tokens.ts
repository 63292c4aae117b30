import type { Bench, Findings, Section } from '../bench.ts'
import { median } from '../measure.ts'
import { tokenRequest, verifyRequest } from '../requests.ts'
import { fillLive } from '../rows.ts'
import { issueTokens } from '../tokens.ts'

/** Whether a large store is slower than an empty one. */
export const tokens: Section = {
  name: 'tokens',
  title: 'A store of 5,000,000 live tokens against an empty one, 64 connections',
  contenders: 4,
  preparation: 40,
  run,
}

const CONNECTIONS = 64
const STARTS = 5

async function run(bench: Bench): Promise<Findings> {
  const large = bench.data('large')
  const empty = bench.data('empty')
  const count = bench.size(5_000_000, 50_000)
  bench.step(`writes ${count} tokens`)
  const known = fillLive(large.file, count, bench.size(100_000, 1000))

  bench.step(`starts ${STARTS} times`)
  const starts: number[] = []
  for (let at = 0; at < STARTS; at++) {
    const server = await bench.ours(large)
    starts.push(server.startSeconds)
    await server.stop()
  }

  const onLarge = await bench.ours(large)
  const onEmpty = await bench.ours(empty)
  const fresh = await issueTokens(onEmpty.port, empty.applications[0], bench.size(10_000, 1000))
  const issue = bench.group(CONNECTIONS, [tokenRequest(large.applications[0])])
  const issueEmpty = bench.group(CONNECTIONS, [tokenRequest(empty.applications[0])])
  const verify = bench.group(CONNECTIONS, known.map(verifyRequest))
  const verifyEmpty = bench.group(CONNECTIONS, fresh.map(verifyRequest))
  const rows = await bench.measure([
    { name: 'issue (large store)', server: onLarge, groups: [issue], base: 'issue (empty store)' },
    { name: 'issue (empty store)', server: onEmpty, groups: [issueEmpty] },
    { name: 'verify (large store)', server: onLarge, groups: [verify], base: 'verify (empty store)' },
    { name: 'verify (empty store)', server: onEmpty, groups: [verifyEmpty] },
  ])
  const startSeconds = median(starts)
  const notes = [
    `From its start to the first 200 of /health/ready on ${count} tokens: ${startSeconds.toFixed(3)} s (median of ${STARTS}).`,
    `Verified are ${known.length} tokens from all over the large store, ${fresh.length} in the empty one.`,
  ]
  return { rows, figures: { 'seconds to ready': startSeconds }, notes }
}
