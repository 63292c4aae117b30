import { readdirSync, readFileSync } from 'node:fs'

// What /proc says about a process and its descendants.

/** Microseconds in one tick of /proc/PID/stat: USER_HZ is 100 on every architecture that Node.js runs on. */
const TICK = 10_000

/** A process and its descendants, by id. */
export function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)]
}

/** CPU time so far, user and system, in microseconds, including descendants that have exited. */
export function cpuTime(pid: number): number {
  return sum(processTree(pid).map(ticksOf)) * TICK
}

export interface Memory {
  /** Resident memory in MiB, now and at its peak. Pages that processes share are counted for each of them. */
  now: number
  peak: number
  /** How many processes these are. */
  processes: number
}

/** The memory of a process and its descendants together. */
export function memory(pid: number): Memory {
  const statuses = processTree(pid).map((one) => read(`/proc/${one}/status`))
  const field = (name: string) => sum(statuses.map((text) => kilobytes(text, name))) / 1024
  return { now: field('VmRSS'), peak: field('VmHWM'), processes: statuses.length }
}

function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** utime, stime, cutime and cstime: fields 14 to 17. Field 2, the name, may contain spaces. */
function ticksOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`)
  return sum(
    stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number),
  )
}

function kilobytes(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
}

/** Empty if the process has exited meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

export function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
