import type { Random } from '../random.ts'
import { dial } from '../world/dial.ts'

/** What a client does when it has sent everything: wait for answers, half-close, go away, or keep the connection open. */
export type Ending = 'wait' | 'half-close' | 'leave' | 'stay'

/** How long a server may take to answer or to end a connection: its own limit for requests is ten seconds. */
const DEADLINE_MS = 20_000
const LEAVE_AFTER_MS = 5

export interface Exchanged {
  received: string
  /** Whether the server neither answered in time nor ended the connection. */
  hung: boolean
}

/** Sends bytes (one character each) on a connection of its own, in one or more parts, and reads until it ends. */
export function exchange(
  port: number,
  text: string,
  { ending, answers, random }: { ending: Ending; answers: number; random: Random },
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const socket = dial({ port, noDelay: true, allowHalfOpen: false })
    let received = ''
    // If a client stays and has an answer, nothing hangs: the server keeps the connection for the next request.
    const deadline = setTimeout(() => finish(ending !== 'stay' || received === ''), DEADLINE_MS)

    function finish(hung: boolean): void {
      clearTimeout(deadline)
      socket.destroy()
      resolve({ received, hung })
    }

    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
      if (
        ending === 'wait' &&
        (received.match(/(^|\n|})HTTP\/1\.1 /g)?.length ?? 0) >= answers &&
        isComplete(received)
      ) {
        finish(false)
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => finish(false))
    socket.on('connect', async () => {
      for (const part of partsOf(text, random)) {
        socket.write(part, 'latin1')
        await new Promise(setImmediate)
      }
      if (ending === 'half-close') socket.end()
      if (ending === 'leave') setTimeout(() => finish(false), LEAVE_AFTER_MS)
    })
  })
}

function partsOf(text: string, random: Random): string[] {
  if (random.chance(0.6)) return [text]
  const at = Array.from({ length: random.between(1, 5) }, () => random.between(0, text.length + 1)).sort(
    (a, b) => a - b,
  )
  return [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length)).filter((part) => part !== '')
}

/** Whether the last answer has its whole body. */
function isComplete(received: string): boolean {
  const from = received.lastIndexOf('HTTP/1.1 ')
  const end = received.indexOf('\r\n\r\n', from)
  if (end === -1) return false
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(from, end))?.[1] ?? 0)
  return received.length >= end + 4 + length
}
