import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Config, parseSettings, readConfig, settings } from '../../config.ts'
import { differsBy } from '../../domain/text.ts'
import type { Terminal } from './terminal.ts'

export const ENV_FILE = '.env'

/** KEY=value. A value in quotes may have several lines. */
const ENTRY = /^[^\S\n]*(?:export[^\S\n]+)?([^\s=#]+)[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|[^\n]*)[^\n]*$/gm
/** An entry whose value has no quotes but contains a # without a space before it. */
const CUT_OFF = /^[^=]*=[^\S\n]*[^"'`#\s][^#]*(?<=\S)#/
const BLANK = /^\s*(#.*)?$/

/** The share of letters that may be wrong in a misspelt setting: one in four, two in eight. */
const MAX_WRONG_SHARE = 1 / 4

/** Shorter variables of other programs too often resemble a setting by chance. */
const MIN_LENGTH = 6

interface EnvFile {
  settings: NodeJS.Dict<string>
  warnings: string[]
  errors: string[]
}

/** Reads a file of lines KEY=value. Lines that are neither entries, comments nor empty are errors. The file may be missing. */
export function readEnvFile(file: string): EnvFile {
  let text = ''
  try {
    text = readFileSync(file, 'utf8')
      .replace(/^\ufeff/, '')
      .replaceAll('\r\n', '\n')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') return { settings: {}, warnings: [], errors: [`Cannot read ${file}: ${message}.`] }
  }
  // Removes the entries, but not their line breaks, so that line numbers stay the same.
  const rest = text.replace(ENTRY, (entry) => entry.replace(/[^\n]/g, '')).split('\n')
  const wrong = rest.flatMap((line, index) => (BLANK.test(line) ? [] : [index]))
  const good = text.split('\n').filter((_, index) => !wrong.includes(index))
  const entries = parseEnv(good.join('\n'))
  return {
    settings: entries,
    warnings: [...doubtfulEntries(text, file), ...misspeltSettings(Object.keys(entries))],
    errors: wrong.map((index) => `Line ${index + 1} of ${file} is neither KEY=value nor a comment.`),
  }
}

/** Reads the settings of this process. Throws OperatorError, which names the origin of wrong ones, if they are invalid. */
export function readSettings({ env }: Pick<Terminal, 'env'>): Config {
  return readConfig(env, readEnvFile(ENV_FILE).settings)
}

/** Warns of settings with several values, and of values that a # cuts off, such as one in a URL. */
function doubtfulEntries(text: string, file: string): string[] {
  const seen = new Map<string, string | undefined>()
  return Array.from(text.matchAll(ENTRY)).flatMap(([entry, name = '']) => {
    if (!Object.hasOwn(settings, name)) return []
    const warnings = []
    const value = parseEnv(entry)[name]
    if (seen.has(name) && seen.get(name) !== value)
      warnings.push(`${name} has several values in ${file}: the last one counts.`)
    if (CUT_OFF.test(entry)) {
      warnings.push(`${name} in ${file} ends before the #, which begins a comment: put the value in quotes.`)
    }
    seen.set(name, value)
    return warnings
  })
}

/** Warns of names in `.env` that look like a misspelt setting. Other unknown names belong to other programs. */
export function misspeltSettings(names: string[]): string[] {
  return misspelt(names, ENV_FILE, (name, setting) =>
    differsBy(Math.floor(setting.length * MAX_WRONG_SHARE), name.toUpperCase(), setting),
  )
}

/** Warns of names in the environment that differ from a setting in one letter. */
export function misspeltVariables(names: string[]): string[] {
  return misspelt(names, 'the environment', (name, setting) => name.length >= MIN_LENGTH && differsBy(1, name, setting))
}

function misspelt(names: string[], place: string, isNear: (name: string, setting: string) => boolean): string[] {
  return names.flatMap((name) => {
    if (Object.hasOwn(settings, name)) return []
    const setting = Object.keys(settings).find((setting) => isNear(name, setting))
    return setting ? [`There is no setting ${name} (in ${place}). Did you mean ${setting}?`] : []
  })
}

/**
 * Returns a function that reads a file again. It returns the names of the settings that have changed since the start, and
 * sentences about the problems that the next start would report.
 */
export function watchSettings(file: string, env: NodeJS.ProcessEnv) {
  const { settings: before } = readEnvFile(file)
  return (): { changed: string[]; problems: string[] } => {
    const { settings: now, warnings, errors } = readEnvFile(file)
    if (errors.length > 0) return { changed: [], problems: errors }
    const changed = Object.keys(settings).filter((name) => before[name] !== now[name])
    const next = { ...env }
    // A value that differs from the file comes from the environment, which takes precedence.
    for (const name of changed) if (env[name] === before[name]) next[name] = now[name]
    return { changed, problems: [...warnings, ...parseSettings(next, now).problems.map(({ text }) => text)] }
  }
}
