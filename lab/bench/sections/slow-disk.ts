import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Bench } from '../bench.ts'
import { speedRatio } from '../row.ts'
import { defineSection, Skipped } from '../section.ts'
import { atLeast } from '../targets.ts'
import type { Data } from '../world/checkout.ts'
import { tokenRequest, verifyRequest } from '../world/requests.ts'
import type { Server } from '../world/server-process.ts'
import { issueTokens } from '../world/single-requests.ts'

/** What a slow disk does to checks, which write nothing, and to issuance. */
export const slowDisk = defineSection({
  name: 'slow-disk',
  title: 'A disk whose every fsync takes 5 ms longer',
  contenders: 4,
  preparation: 8,
  run,
  targets: [
    {
      asked: 'checks beside issuance at least 0.9 of those on the fast disk',
      value: (rows) => speedRatio(rows['slow 64 check'], rows['fast 64 check']),
      isMet: atLeast(0.9),
    },
    {
      asked: 'issuance to 256 connections at least 0.5 of that on the fast disk',
      value: ({ slow, fast }) => speedRatio(slow, fast),
      isMet: atLeast(0.5),
    },
  ],
})

const MILLISECONDS = 5

async function run(bench: Bench) {
  const library = compile(bench.file('slow-fsync.so'))
  const data = { fast: bench.data('fast'), slow: bench.data('slow') }
  const env = { LD_PRELOAD: library, SLOW_FSYNC_MS: String(MILLISECONDS) }
  const [fast, slow] = [await bench.serve(data.fast), await bench.serve(data.slow, { env })]
  await assertSlow(slow, data.slow)
  const [onFast, onSlow] = [await loadsOf(bench, fast, data.fast), await loadsOf(bench, slow, data.slow)]
  const together = await bench.measure({
    fast: { name: 'fast disk', server: fast, ...onFast.together },
    slow: { name: 'slow disk', server: slow, ...onSlow.together, base: 'fast' },
  })
  const alone = await bench.measure({
    fast: { name: 'fast disk, 256 issue', server: fast, ...onFast.issue },
    slow: { name: 'slow disk, 256 issue', server: slow, ...onSlow.issue, base: 'fast' },
  })
  const notes = ['64 connections check while 8 issue; then 256 connections issue.']
  return { rows: { ...together, ...alone }, notes }
}

async function loadsOf(bench: Bench, server: Server, data: Data) {
  const application = data.applications[0]
  const issue = [tokenRequest(application)]
  const accessTokens = await issueTokens(server.port, application, bench.size(5000, 500))
  return {
    together: {
      groups: { '64 check': bench.group(64, accessTokens.map(verifyRequest)), '8 issue': bench.group(8, issue) },
    },
    issue: bench.load(256, issue),
  }
}

/** Throws if a token takes less time than an fsync of the slow disk: then the library has no effect. */
async function assertSlow(server: Server, data: Data): Promise<void> {
  const startedAt = performance.now()
  for (let at = 0; at < 10; at++) await issueTokens(server.port, data.applications[0], 1)
  const each = (performance.now() - startedAt) / 10
  if (each < MILLISECONDS) throw new Error(`a token took ${each.toFixed(1)} ms on a disk that takes ${MILLISECONDS} ms`)
}

function compile(library: string): string {
  const source = join(import.meta.dirname, 'slow-fsync.c')
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  if (status !== 0) throw new Skipped('it needs a C compiler, cc')
  return library
}
