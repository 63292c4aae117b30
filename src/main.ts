import { holdSignals } from './commands/shared/held-signals.ts'

if (process.argv[2] === 'serve') holdSignals()
// To load the rest takes a while, in which a signal may come.
const { runProcess } = await import('./commands/shared/process.ts')
const { main } = await import('./commands/program.ts')
await runProcess(() => main(process.argv.slice(2), process))
