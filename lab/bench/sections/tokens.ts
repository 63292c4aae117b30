import type { Bench } from '../bench.ts'
import { median, speedRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atLeast, atMost } from '../targets.ts'
import { fillLive } from '../world/fill.ts'
import { tokenRequest, verifyRequest } from '../world/requests.ts'
import { issueTokens } from '../world/single-requests.ts'

/** Whether a large store is slower than an empty one. */
export const tokens = defineSection({
  name: 'tokens',
  title: 'A store of 5,000,000 live tokens against an empty one, 64 connections',
  contenders: 6,
  preparation: 60,
  run,
  targets: [
    {
      asked: 'issue at least 0.90 of the empty store',
      value: ({ issueLarge, issueEmpty }) => speedRatio(issueLarge, issueEmpty),
      isMet: atLeast(0.9),
    },
    {
      asked: 'verify few at least 0.90 of the empty store',
      value: ({ fewLarge, fewEmpty }) => speedRatio(fewLarge, fewEmpty),
      isMet: atLeast(0.9),
    },
    {
      asked: 'verify many at least 0.90 of the empty store',
      value: ({ manyLarge, manyEmpty }) => speedRatio(manyLarge, manyEmpty),
      isMet: atLeast(0.9),
    },
    {
      asked: 'ready in at most 0.5 s',
      value: (_rows, { startSeconds }) => startSeconds,
      isMet: atMost(0.5),
    },
  ],
})

const CONNECTIONS = 64
const STARTS = 5
/** Fewer tokens than the server caches, and more. */
const FEW = 10_000
const MANY = 100_000

async function run(bench: Bench) {
  const large = bench.data('large')
  const empty = bench.data('empty')
  const count = bench.size(5_000_000, 50_000)
  bench.step(`writes ${count} tokens`)
  const many = bench.size(MANY, 2000)
  const few = bench.size(FEW, 1000)
  const inLarge = fillLive(large.file, count, many)

  bench.step(`starts ${STARTS} times`)
  const starts: number[] = []
  for (let at = 0; at < STARTS; at++) {
    const server = await bench.serve(large)
    starts.push(server.startSeconds)
    await server.stop()
  }
  const startSeconds = median(starts)

  const onLarge = await bench.serve(large)
  const onEmpty = await bench.serve(empty)
  bench.step(`issues ${many} tokens`)
  const inEmpty = await issueTokens(onEmpty.port, empty.applications[0], many)
  const issue = ({ applications }: typeof large) => bench.load(CONNECTIONS, [tokenRequest(applications[0])])
  const verify = (accessTokens: string[]) => bench.load(CONNECTIONS, accessTokens.map(verifyRequest))
  const rows = await bench.measure({
    issueLarge: { name: 'issue (large store)', server: onLarge, ...issue(large), base: 'issueEmpty' },
    issueEmpty: { name: 'issue (empty store)', server: onEmpty, ...issue(empty) },
    fewLarge: {
      name: 'verify few (large store)',
      server: onLarge,
      ...verify(inLarge.slice(0, few)),
      base: 'fewEmpty',
    },
    fewEmpty: { name: 'verify few (empty store)', server: onEmpty, ...verify(inEmpty.slice(0, few)) },
    manyLarge: { name: 'verify many (large store)', server: onLarge, ...verify(inLarge), base: 'manyEmpty' },
    manyEmpty: { name: 'verify many (empty store)', server: onEmpty, ...verify(inEmpty) },
  })
  const notes = [
    `From the start to the first 200 of /health/ready on ${count} tokens: ${startSeconds.toFixed(3)} s (median of ${STARTS}).`,
    `Few are ${few} different tokens, many are ${many}; those in the large store are evenly spaced, in random order.`,
    'The empty store begins with the tokens that are verified, and gets those that are issued meanwhile.',
  ]
  return { rows, figures: { startSeconds }, notes }
}
