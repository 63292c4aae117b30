import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/operator-error.ts'
import { StoreUnavailable } from '../domain/store.ts'

/** Error: something does not work or is about to be lost. Warning: that may happen soon. Note: good to know. */
export type Level = (typeof LEVELS)[number]
const LEVELS = ['ok', 'note', 'warning', 'error'] as const

export interface Finding {
  level: Level
  text: string
  advice?: string
}

const findingOf =
  (level: Level) =>
  (text: string, advice?: string): Finding => ({
    level,
    text,
    ...(advice !== undefined && { advice }),
  })

export const ok = findingOf('ok')
export const note = findingOf('note')
export const warning = findingOf('warning')
export const error = findingOf('error')

/** Doctor warns of keys and secrets that expire within this time. */
export const SOON_MS = 7 * 24 * 60 * 60_000

/** The advice to restrict the permissions of a file. The server may need them if the file belongs to another user. */
export function restriction(rights: string, path: string, uid: number): string {
  return `${uid === process.getuid?.() ? '' : "Make the server's user its owner, then: "}chmod ${rights} ${path}`
}

export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`
}

export function timeText(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}

const DEADLINE_MS = 10_000

export type Check = [subject: string, check: () => Finding[] | Promise<Finding[]>]

export interface Diagnosis extends Finding {
  subject: string
}

/** Runs all checks at once. Resolves to their findings in order: an error for a check that fails or takes too long. */
export async function runAll(checks: Check[], { deadline = DEADLINE_MS } = {}): Promise<Diagnosis[]> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, deadline)))
  return findings.flat()
}

/** Sorts findings by level, the worst last: a terminal shows the end. */
export function worstLast<One extends Finding>(findings: readonly One[]): One[] {
  return findings.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level))
}

export function worst(findings: readonly Finding[]): Level {
  return worstLast(findings).at(-1)?.level ?? 'ok'
}

async function runCheck([subject, check]: Check, deadline: number): Promise<Diagnosis[]> {
  const ended = new AbortController()
  const tooLate = error(`The check did not end within ${deadline / 1000} s.`, 'A disk or a network does not answer.')
  const late = sleep(deadline, [tooLate], { signal: ended.signal })
  // Async, so that it also catches what a check throws synchronously.
  const findings = await Promise.race([(async () => check())().catch((cause) => [failed(cause)]), late])
  ended.abort()
  late.catch(() => {})
  return findings.map((finding) => ({ ...finding, subject }))
}

function failed(cause: unknown): Finding {
  const { message, code, path } = cause as NodeJS.ErrnoException
  if (cause instanceof OperatorError || cause instanceof StoreUnavailable) return error(message)
  if (code === 'EACCES' && path !== undefined) {
    const text = `This process, uid ${process.getuid?.()}, has no access to files in ${dirname(path)}.`
    return error(text, "Run this as the server's user.")
  }
  return error(`The check failed: ${message}.`)
}
