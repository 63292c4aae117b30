import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

// A thread of its own: while a test loops without yielding, no timer of the test's thread runs.
let timer: NodeJS.Timeout | undefined
parentPort?.on('message', (place: string) => {
  clearTimeout(timer)
  timer = setTimeout(() => {
    writeSync(1, `not ok - ${place} loops without yielding: ended after ${workerData / 1000} s\n`)
    process.kill(process.pid, 'SIGKILL')
  }, workerData)
})
