import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const INTERVAL_MS = 100

/** Counts how many connections to a port each process has, again and again, and keeps the maximum. */
export function watchConnections(pids: number[], port: number) {
  let most = 0
  function count(): void {
    const sockets = socketsTo(port, readFileSync('/proc/net/tcp', 'utf8'))
    most = Math.max(most, ...pids.map((pid) => countOf(pid, sockets)))
  }
  const timer = setInterval(count, INTERVAL_MS)
  return {
    /** Ends the watch. Returns the most connections that one process had at once. */
    stop(): number {
      clearInterval(timer)
      count()
      return most
    },
  }
}

/** The sockets of a table /proc/net/tcp that lead to a port, as they are named in /proc/PID/fd. */
function socketsTo(port: number, table: string): Set<string> {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = table
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
  return new Set(rows.filter((cells) => cells[2]?.endsWith(remote)).map((cells) => `socket:[${cells[9]}]`))
}

function countOf(pid: number, sockets: Set<string>): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => sockets.has(targetOf(`/proc/${pid}/fd/${fd}`))).length
}

/** The target of a link. Empty if the file was closed in the meantime. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}
