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
