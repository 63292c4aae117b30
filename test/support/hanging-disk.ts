import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** The disk of this process, which answers at once, or hangs, or fails: `fdatasync` is this one from now on. */
export const disk = {
  isHanging: false,
  /** Whether the next fsync fails. */
  failsNext: false,
  /** What waits for it, while it hangs; each is called when the disk has answered, with an error where it failed. */
  waiting: [] as ((error?: Error) => void)[],
  recover() {
    disk.isHanging = false
    for (const answer of disk.waiting.splice(0)) answer()
  },
}

Object.assign(fs, {
  fdatasync(_file: number, done: fs.NoParamCallback) {
    const answer = (error?: Error) => setImmediate(done, error ?? null)
    const { failsNext } = disk
    disk.failsNext = false
    if (disk.isHanging) disk.waiting.push(answer)
    else answer(failsNext ? new Error('EIO') : undefined)
  },
})
syncBuiltinESMExports()
