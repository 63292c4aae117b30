import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Bench, Findings, Section } from '../bench.ts'
import type { Data } from '../data.ts'
import type { Contender } from '../measure.ts'
import type { Server } from '../process.ts'
import { tokenRequest, verifyRequest } from '../requests.ts'
import { issueTokens } from '../tokens.ts'

/** What a disk that takes five milliseconds more to sync does to checks, which write nothing, and to issuance. */
export const slowDisk: Section = {
  name: 'slow-disk',
  title: 'A disk whose every sync takes 5 ms longer',
  contenders: 4,
  preparation: 8,
  run,
}

const MILLISECONDS = 5

async function run(bench: Bench): Promise<Findings> {
  const library = compile(bench.file('slow-fsync.so'))
  if (!library) return { rows: [], notes: ['Skipped: it needs a C compiler, cc.'] }
  const data = { fast: bench.data('fast'), slow: bench.data('slow') }
  const fast = await bench.ours(data.fast)
  const slow = await bench.ours(data.slow, {
    env: { LD_PRELOAD: library, SLOW_FSYNC_MS: String(MILLISECONDS) },
  })
  await assertSlow(slow, data.slow)
  const groups = {
    fast: await groupsOf(bench, fast, data.fast),
    slow: await groupsOf(bench, slow, data.slow),
  }
  const rows = await bench.measure([
    { name: 'fast disk', server: fast, groups: groups.fast.both },
    { name: 'slow disk', server: slow, groups: groups.slow.both, base: 'fast disk' },
    { name: 'fast disk, 256 issue', server: fast, groups: groups.fast.issue },
    { name: 'slow disk, 256 issue', server: slow, groups: groups.slow.issue, base: 'fast disk, 256 issue' },
  ])
  return { rows, notes: ['64 connections check while 8 issue, all at once; then 256 issue.'] }
}

async function groupsOf(bench: Bench, server: Server, data: Data) {
  const application = data.applications[0]
  const issue = [tokenRequest(application)]
  const tokens = await issueTokens(server.port, application, bench.size(5000, 500))
  const both: Contender['groups'] = [
    bench.group(64, tokens.map(verifyRequest), 200, '64 check'),
    bench.group(8, issue, 200, '8 issue'),
  ]
  const alone: Contender['groups'] = [bench.group(256, issue)]
  return { both, issue: alone }
}

/** Throws where a token comes back sooner than the slow disk allows: then the library is not in the server's way. */
async function assertSlow(server: Server, data: Data): Promise<void> {
  const startedAt = performance.now()
  for (let at = 0; at < 10; at++) await issueTokens(server.port, data.applications[0], 1)
  const each = (performance.now() - startedAt) / 10
  if (each < MILLISECONDS) throw new Error(`a token took ${each.toFixed(1)} ms on a disk that takes ${MILLISECONDS} ms`)
}

/** Undefined where there is no C compiler. */
function compile(library: string): string | undefined {
  const source = join(import.meta.dirname, '../slow-fsync.c')
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return status === 0 ? library : undefined
}
