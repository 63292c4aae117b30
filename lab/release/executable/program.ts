import '../bundle/stack-traces.ts'
import { run } from '../../../src/commands/run.ts'
import { holdSignals } from '../../../src/commands/shared/held-signals.ts'

// What src/main.ts does, in the executable: without a compile cache, which would be files elsewhere, and without an `await` at
// its top, because it is CommonJS.

void start(process.argv.slice(2))

async function start(args: string[]): Promise<void> {
  if (args[0] === 'serve') {
    holdSignals()
    const { default: cluster } = await import('node:cluster')
    // Otherwise Node.js would pass the path of the program to a worker as its command.
    if (cluster.isPrimary) cluster.setupPrimary({ exec: 'serve', args: args.slice(1), execArgv: [] })
  }
  await run(args)
}
