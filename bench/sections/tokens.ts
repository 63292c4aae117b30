import type { Bench, Findings, Section } from '../bench.ts'
import { median } from '../measure.ts'
import { tokenRequest, verifyRequest } from '../requests.ts'
import { fillLive } from '../rows.ts'
import { issueTokens } from '../tokens.ts'

/** Whether a large store is slower than an empty one. */
export const tokens: Section = {
  name: 'tokens',
  title: 'A store of 5,000,000 live tokens against an empty one, 64 connections',
  contenders: 6,
  preparation: 60,
  run,
}

const CONNECTIONS = 64
const STARTS = 5
/** Tokens that are checked: as many as are held in memory, and more. */
const FEW = 10_000
const MANY = 100_000

async function run(bench: Bench): Promise<Findings> {
  const large = bench.data('large')
  const empty = bench.data('empty')
  const count = bench.size(5_000_000, 50_000)
  bench.step(`writes ${count} tokens`)
  const many = bench.size(MANY, 2000)
  const few = bench.size(FEW, 1000)
  const known = fillLive(large.file, count, many)

  bench.step(`starts ${STARTS} times`)
  const starts: number[] = []
  for (let at = 0; at < STARTS; at++) {
    const server = await bench.ours(large)
    starts.push(server.startSeconds)
    await server.stop()
  }

  const onLarge = await bench.ours(large)
  const onEmpty = await bench.ours(empty)
  bench.step(`issues ${many} tokens`)
  const fresh = await issueTokens(onEmpty.port, empty.applications[0], many)
  const issue = bench.group(CONNECTIONS, [tokenRequest(large.applications[0])])
  const issueEmpty = bench.group(CONNECTIONS, [tokenRequest(empty.applications[0])])
  const verify = (tokens: string[]) => bench.group(CONNECTIONS, tokens.map(verifyRequest))
  const rows = await bench.measure([
    { name: 'issue (large store)', server: onLarge, groups: [issue], base: 'issue (empty store)' },
    { name: 'issue (empty store)', server: onEmpty, groups: [issueEmpty] },
    {
      name: 'verify few (large store)',
      server: onLarge,
      groups: [verify(known.slice(0, few))],
      base: 'verify few (empty store)',
    },
    { name: 'verify few (empty store)', server: onEmpty, groups: [verify(fresh.slice(0, few))] },
    { name: 'verify many (large store)', server: onLarge, groups: [verify(known)], base: 'verify many (empty store)' },
    { name: 'verify many (empty store)', server: onEmpty, groups: [verify(fresh)] },
  ])
  const startSeconds = median(starts)
  const notes = [
    `From its start to the first 200 of /health/ready on ${count} tokens: ${startSeconds.toFixed(3)} s (median of ${STARTS}).`,
    `Few are ${few} different tokens, many are ${many}; those in the large store are from all over it, in random order.`,
    'The empty store begins with as many tokens as are verified, and gets those that are issued while it is measured.',
  ]
  return { rows, figures: { 'seconds to ready': startSeconds }, notes }
}
