/** Runs the program in this process. */
export async function run(args: string[]): Promise<void> {
  // Without the rest, which would take half of the time.
  if (args[0] === '--version' || args[0] === '-V') {
    const { VERSION } = await import('../version.ts')
    process.stdout.on('error', () => {}).write(`${VERSION}\n`)
    return
  }
  const { runProcess } = await import('./shared/process.ts')
  const { main } = await import('./program.ts')
  await runProcess(() => main(args, process))
}
