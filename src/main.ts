import { holdSignals } from './commands/shared/held-signals.ts'

if (process.argv[2] === 'serve') holdSignals()
// Loading the rest takes a while, during which a signal may arrive.
const { runProcess } = await import('./commands/shared/process.ts')
const { main } = await import('./commands/program.ts')
await runProcess(() => main(process.argv.slice(2), process))
