import type { Bench, Findings, Section } from '../bench.ts'
import { tokenRequest, verifyRequest } from '../requests.ts'
import { issueTokens } from '../tokens.ts'

/** What a second worker costs, and whether workers are replaced without anybody noticing. */
export const workers: Section = {
  name: 'workers',
  title: 'Two workers against one, 64 connections in all or for each of them',
  contenders: 7,
  preparation: 15,
  run,
}

async function run(bench: Bench): Promise<Findings> {
  const data = bench.data('one')
  const pair = bench.data('two')
  const one = await bench.ours(data, { env: { WORKERS: '1' }, pin: false })
  const two = await bench.ours(pair, { env: { WORKERS: '2' }, pin: false })
  const count = bench.size(10_000, 1000)
  const tokens = await issueTokens(one.port, data.applications[0], count)
  const pairTokens = await issueTokens(two.port, pair.applications[0], count)
  const issue = bench.group(64, [tokenRequest(data.applications[0])])
  const issuePair = bench.group(64, [tokenRequest(pair.applications[0])], 200, 'issue')
  const verify = bench.group(64, tokens.map(verifyRequest))
  const verifyPair = bench.group(64, pairTokens.map(verifyRequest), 200, 'verify')
  const rows = await bench.measure([
    { name: 'issue (1 worker)', server: one, groups: [issue] },
    { name: 'issue (2 workers)', server: two, groups: [issuePair], base: 'issue (1 worker)' },
    {
      name: 'issue (2 workers, 64 each)',
      server: two,
      groups: [{ ...issuePair, connections: 128 }],
      base: 'issue (1 worker)',
    },
    { name: 'verify (1 worker)', server: one, groups: [verify] },
    { name: 'verify (2 workers)', server: two, groups: [verifyPair], base: 'verify (1 worker)' },
    {
      name: 'verify (2 workers, 64 each)',
      server: two,
      groups: [{ ...verifyPair, connections: 128 }],
      base: 'verify (1 worker)',
    },
  ])

  // Apart from the others: new workers are slow at first.
  const restarts = await bench.measure([
    {
      name: 'rolling restarts',
      server: two,
      groups: [verifyPair, issuePair],
      before: () => void two.signal('SIGHUP'),
    },
  ])
  const notes = [
    'The servers are not pinned to a core here: they share one with the load program.',
    'Rolling restarts: SIGHUP to the parent process at the beginning of every round.',
  ]
  return { rows: [...rows, ...restarts], notes }
}
