import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { holdSignals } from './commands/shared/held-signals.ts'

if (process.argv[2] === 'serve') holdSignals()
// Saves time at the start, since types are stripped only once: half of it when run from sources. The cache is where
// NODE_COMPILE_CACHE says, or in the program's folder, where other users cannot write; if that is read-only, there is no cache.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))
// Loading the rest takes a while, during which a signal may arrive.
const { run } = await import('./commands/run.ts')
await run(process.argv.slice(2))
