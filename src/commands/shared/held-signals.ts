/** The signals that a server serves. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/** Keeps signals that come before there is anybody who serves them, for the first who listens. */
export function holdSignals(): void {
  for (const signal of SIGNALS) hold(signal)
}

function hold(signal: NodeJS.Signals): void {
  let count = 0
  const keep = () => count++
  process.on(signal, keep)
  process.on('newListener', function handOver(event) {
    if (event !== signal) return
    process.off('newListener', handOver)
    // The listener is not there yet, nor may be what it needs.
    process.nextTick(() => {
      process.off(signal, keep)
      for (; count > 0; count--) process.emit(signal, signal)
    })
  })
}
