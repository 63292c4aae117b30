const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/** Keeps signals that arrive before they have a listener, and passes them to the first one. */
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
    // This event precedes the adding of the listener, which may need what the adding code sets up next.
    process.nextTick(() => {
      process.off(signal, keep)
      for (; count > 0; count--) process.emit(signal, signal)
    })
  })
}
