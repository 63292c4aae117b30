import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** A disk that can be made to hang: `fdatasync` is this one in what is loaded after this module. */
export const disk = {
  isHanging: false,
  /** What waits for it, while it hangs. */
  waiting: [] as (() => void)[],
  recover() {
    disk.isHanging = false
    for (const sync of disk.waiting.splice(0)) sync()
  },
}

const { fdatasync } = fs
Object.assign(fs, {
  fdatasync(file: number, done: fs.NoParamCallback) {
    if (disk.isHanging) disk.waiting.push(() => fdatasync(file, done))
    else fdatasync(file, done)
  },
})
syncBuiltinESMExports()
