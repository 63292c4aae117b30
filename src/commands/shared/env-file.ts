import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { readConfig, settings } from '../../config.ts'
import { OperatorError } from '../../domain/operator-error.ts'

/** In the working directory. */
export const ENV_FILE = '.env'

/** KEY=value, where a quoted value may go over several lines. */
const ENTRY = /^[^\S\n]*(?:export[^\S\n]+)?([^\s=#]+)[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|[^\n]*)[^\n]*$/gm
/** A value without quotes, and a # that no space separates from it. */
const CUT_OFF = /^[^=]*=[^\S\n]*[^"'`#\s][^#]*(?<=\S)#/
const BLANK = /^\s*(#.*)?$/

/** How much of a setting's name a misspelt one may differ in: a letter of four, two of eight. */
const MISSPELT = 1 / 4

/** Shorter names of other programs are too near to ours by chance. */
const LONG = 6

/** What a file says, and sentences about what may not be meant. */
interface EnvFile {
  settings: NodeJS.Dict<string>
  warnings: string[]
}

/** The same, as far as it can be read; and a sentence about each line that cannot. */
interface ScannedFile extends EnvFile {
  errors: string[]
}

/**
 * The settings in a file of lines KEY=value; none where there is no such file. Throws OperatorError where it cannot be read,
 * or where a line is neither an entry nor a comment nor empty: it would be ignored without a word.
 */
export function readEnvFile(file: string): EnvFile {
  const { errors, ...read } = scanEnvFile(file)
  if (errors.length > 0) throw new OperatorError(errors.join('\n'))
  return read
}

/** The same, but for the lines that are no entries: of each there is a sentence. Throws OperatorError where it cannot be read. */
export function scanEnvFile(file: string): ScannedFile {
  const text = textOf(file)
  // What is left of the entries keeps the lines' numbers.
  const rest = text.replace(ENTRY, (entry) => entry.replace(/[^\n]/g, '')).split('\n')
  const wrong = rest.flatMap((line, at) => (BLANK.test(line) ? [] : [at]))
  const good = text.split('\n').filter((_, at) => !wrong.includes(at))
  return {
    settings: parseEnv(good.join('\n')),
    warnings: doubtful(text, file),
    errors: wrong.map((at) => `Line ${at + 1} of ${file} is not KEY=value.`),
  }
}

/** A sentence for each setting that has two values, and for each value that a # ends, as in the middle of an address. */
function doubtful(text: string, file: string): string[] {
  const seen = new Map<string, string | undefined>()
  return Array.from(text.matchAll(ENTRY)).flatMap(([entry, name = '']) => {
    if (!Object.hasOwn(settings, name)) return []
    const warnings = []
    const value = parseEnv(entry)[name]
    if (seen.has(name) && seen.get(name) !== value)
      warnings.push(`${name} has several values in ${file}: the last one counts.`)
    if (CUT_OFF.test(entry)) warnings.push(`${name} in ${file} ends at its #, for a comment begins there: use quotes.`)
    seen.set(name, value)
    return warnings
  })
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
      .replace(/^\ufeff/, '')
      .replaceAll('\r\n', '\n')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new OperatorError(`Cannot read ${file}: ${(cause as Error).message}.`, { cause })
  }
}

/** A sentence for each name in a file that is no setting but looks like a misspelt one. Others are some other program's. */
export function misspeltSettings(names: string[]): string[] {
  const isNear = (name: string, setting: string) => distance(name.toUpperCase(), setting) <= setting.length * MISSPELT
  return misspelt(names, ENV_FILE, isNear)
}

/** A sentence for each name in the environment that is no setting but one letter away from one. */
export function misspeltVariables(names: string[]): string[] {
  return misspelt(names, 'the environment', (name, setting) => name.length >= LONG && distance(name, setting) === 1)
}

function misspelt(names: string[], place: string, isNear: (name: string, setting: string) => boolean): string[] {
  return names.flatMap((name) => {
    if (Object.hasOwn(settings, name)) return []
    const meant = Object.keys(settings).find((setting) => isNear(name, setting))
    return meant ? [`There is no setting ${name} (in ${place}). Is ${meant} meant?`] : []
  })
}

/** What has become of the settings in a file since the start. */
interface SettingsNow {
  /** The names of those that have other values. */
  changed: string[]
  /** A sentence for each mistake that the next start would report. */
  problems: string[]
}

/** Returns a function that compares the settings in a file with what they were, and with what they may be. */
export function watchSettings(file: string, env: NodeJS.ProcessEnv): () => SettingsNow {
  const before = read(file).entries
  return () => {
    const { entries: now, problems } = read(file)
    if (problems.length > 0) return { changed: [], problems }
    const changed = Object.keys(settings).filter((name) => before[name] !== now[name])
    const next = { ...env }
    // What is not as it was in the file comes from the environment, which takes precedence.
    for (const name of changed) if (env[name] === before[name]) next[name] = now[name]
    return { changed, problems: [...misspeltSettings(Object.keys(now)), ...sentences(() => readConfig(next))] }
  }
}

function read(file: string): { entries: NodeJS.Dict<string>; problems: string[] } {
  let entries: NodeJS.Dict<string> = {}
  const problems = sentences(() => (entries = readEnvFile(file).settings))
  return { entries, problems }
}

/** What is wrong, where something is. */
function sentences(job: () => unknown): string[] {
  try {
    job()
    return []
  } catch (error) {
    return (error as OperatorError).message.split('\n')
  }
}

/** How many letters are to be added, left out, exchanged or swapped with the next to make one text the other. */
function distance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (_, j) => i || j))
  const at = (i: number, j: number) => table[i]?.[j] as number
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const exchanged = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
      const row = table[i] as number[]
      row[j] = Math.min(exchanged, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1)
    }
  }
  return at(a.length, b.length)
}
