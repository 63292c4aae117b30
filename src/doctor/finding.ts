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
