import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

/** For tests that need a file system of their own; only root may have one. */
export const MOUNTS = { skip: !canMount() && 'needs to mount file systems' }

function canMount(): boolean {
  const isRoot = process.getuid?.() === 0
  return isRoot && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0
}

/** It ends when its input does, so with the test, however that ends; and the mount with it. */
const GUARD = 'mount -t tmpfs -o "$1" none "$2" && echo mounted && cat; umount -l "$2"'

/** A folder with a file system in memory, with options as `mount` has them. */
export async function mountFileSystem(t: Test, options: string): Promise<string> {
  const folder = temporaryFolder(t)
  // Detached: what ends the group of the test does not end it.
  const guard = spawn('sh', ['-c', GUARD, 'sh', options, folder], { detached: true })
  t.teardown(async () => {
    guard.stdin.end()
    await once(guard, 'exit')
  })
  await once(guard.stdout, 'data')
  return folder
}
