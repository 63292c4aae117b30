import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/operator-error.ts'
import { StoreUnavailable } from '../domain/store.ts'

/** Error: something does not work, or is about to be lost. Warning: it soon may. Note: worth knowing. */
export type Level = 'ok' | 'note' | 'warning' | 'error'

/** One thing that was looked at. */
export interface Finding {
  level: Level
  /** What is so: one sentence. */
  text: string
  /** What to do. */
  advice?: string
}

export const ok = (text: string): Finding => ({ level: 'ok', text })
export const note = (text: string, advice?: string): Finding => finding('note', text, advice)
export const warning = (text: string, advice?: string): Finding => finding('warning', text, advice)
export const error = (text: string, advice?: string): Finding => finding('error', text, advice)

function finding(level: Level, text: string, advice: string | undefined): Finding {
  return advice === undefined ? { level, text } : { level, text, advice }
}

/** What ends within a week is a warning. Milliseconds. */
export const SOON_MS = 7 * 24 * 60 * 60_000

/** Bytes for people. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** at
  return `${at === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[at]}`
}

/** A time for people, to the second. */
export function timeText(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** How long a check may take, in milliseconds. */
const DEADLINE_MS = 10_000

const RUN_AS = "Run this as the server's user."

/** A subject, and what looks at it. */
export type Check = [subject: string, examine: () => Finding[] | Promise<Finding[]>]

export interface Diagnosis extends Finding {
  subject: string
}

const LEVELS: Level[] = ['ok', 'note', 'warning', 'error']

/**
 * Carries out all checks at once. Resolves to what they found, in their order. What one of them cannot do, or not in time, is
 * a finding, too.
 */
export async function examine(checks: Check[], { deadline = DEADLINE_MS } = {}): Promise<Diagnosis[]> {
  const findings = await Promise.all(checks.map((check) => examineOne(check, deadline)))
  return findings.flat()
}

/** The same findings, the worst at the end: on a terminal that is what one sees. */
export function worstLast<One extends Finding>(findings: readonly One[]): One[] {
  return findings.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level))
}

/** The level of the worst finding. */
export function worst(findings: readonly Finding[]): Level {
  return worstLast(findings).at(-1)?.level ?? 'ok'
}

async function examineOne([subject, examine]: Check, deadline: number): Promise<Diagnosis[]> {
  const ended = new AbortController()
  const late = sleep(deadline, undefined, { signal: ended.signal }).then(() => [tooLate(deadline)])
  // What this resolves to may be an array that is not of this check alone.
  const found = (async () => examine())().catch((cause) => [failed(cause)])
  const findings = await Promise.race([found, late])
  ended.abort()
  late.catch(() => {})
  return findings.map((finding) => ({ ...finding, subject }))
}

function tooLate(deadline: number): Finding {
  return error(`Nothing was found out within ${deadline / 1000} s.`, 'A disk or a network does not answer.')
}

/** What an operator can mend has its sentence; of what nobody has thought of there is what the system says. */
function failed(cause: unknown): Finding {
  const { message, code, path } = cause as NodeJS.ErrnoException
  if (cause instanceof OperatorError || cause instanceof StoreUnavailable) return error(message)
  if (code === 'EACCES' && path !== undefined) {
    const folder = dirname(path)
    return error(`This process, uid ${process.getuid?.()}, may not look at what is in ${folder}.`, RUN_AS)
  }
  return error(`This could not be looked at: ${message}.`)
}
