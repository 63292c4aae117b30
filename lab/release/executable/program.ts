import '../bundle/stack-traces.ts'
import cluster from 'node:cluster'
import { holdSignals } from '../../../src/commands/shared/held-signals.ts'

// What src/main.ts does, in the executable: without a compile cache, which would be files elsewhere, and without an `await` at
// its top, because it is CommonJS.

const args = process.argv.slice(2)
if (args[0] === 'serve') {
  holdSignals()
  // Otherwise Node.js would pass the path of the program to a worker as its command.
  if (cluster.isPrimary) cluster.setupPrimary({ exec: 'serve', args: args.slice(1), execArgv: [] })
}
void run()

async function run(): Promise<void> {
  const { runProcess } = await import('../../../src/commands/shared/process.ts')
  const { main } = await import('../../../src/commands/program.ts')
  await runProcess(() => main(args, process))
}
