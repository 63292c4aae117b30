import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cleanup } from './process.ts'

const TMPFS = 0x01021994
const RAMFS = 0x858458f6

/** A temporary folder on a disk: a sync in memory costs nothing and would say nothing. */
export function temporaryFolder(cleanup: Cleanup): string {
  const inMemory = [TMPFS, RAMFS].includes(statfsSync(tmpdir()).type)
  const folder = mkdtempSync(inMemory ? join(import.meta.dirname, '.tmp-') : join(tmpdir(), 'token-server-bench-'))
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
