import { type Config, readConfig, settings } from '../config.ts'
import type { OperatorError } from '../domain/operator-error.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

/** The settings as far as they can be read. */
export interface ReadSettings {
  /** Those that are wrong have their defaults here. */
  config: Config
  /** The names of those that are wrong. */
  wrong: string[]
  /** What is wrong, a sentence each that begins with a name. */
  problems: string[]
}

export interface SettingsSource {
  /** The environment of the process. */
  env: NodeJS.ProcessEnv
  /** What the file has, which counts where the environment has nothing; and its name. */
  file: NodeJS.Dict<string>
  fileName: string
  /** Sentences about what may not be meant, and about what cannot be read. */
  warnings: string[]
  errors: string[]
}

/** Reads the settings; in the place of each that is wrong its default. */
export function readSettings({ env, file }: Pick<SettingsSource, 'env' | 'file'>): ReadSettings {
  const rest = { ...file, ...env }
  const problems: string[] = []
  // Rules on two settings are looked at where each of them is right.
  for (let round = 0; round < 2; round++) {
    const found = problemsOf(rest)
    problems.push(...found)
    for (const problem of found) delete rest[nameIn(problem)]
  }
  return { config: readConfig(rest), wrong: problems.map(nameIn), problems }
}

function problemsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return (error as OperatorError).message.split('\n')
  }
}

/** The name that a problem begins with. */
function nameIn(problem: string): string {
  return problem.split(' ')[0] as string
}

/** Every setting with its value and where that comes from; and what is wrong with them. */
export function examineSettings(source: SettingsSource, { wrong, problems }: ReadSettings): Finding[] {
  const names = Object.keys(settings) as (keyof typeof settings)[]
  return [
    ...source.errors.map((text) => error(text, 'The server does not start with it.')),
    ...problems.map((text) => error(text, `Its value comes from: ${originOf(source, nameIn(text))}.`)),
    ...names.filter((name) => !wrong.includes(name)).map((name) => ok(settingText(source, name))),
    ...source.warnings.map((text) => warning(text)),
    ...unknownEntries(source),
  ]
}

function settingText(source: SettingsSource, name: keyof typeof settings): string {
  const value = source.env[name] ?? source.file[name] ?? settings[name].default
  return `${name} is ${withoutPassword(value)} (${originOf(source, name)})`
}

function originOf({ env, file, fileName }: SettingsSource, name: string): string {
  if (env[name] !== undefined) return 'environment'
  return file[name] !== undefined ? fileName : 'default'
}

/** The password in the address of a PostgreSQL database. */
function withoutPassword(value: string): string {
  return value.replace(/^(postgres(?:ql)?:\/\/[^:@/?#]+):[^@/?#]*@/, '$1:…@')
}

function unknownEntries({ file, fileName, warnings }: SettingsSource): Finding[] {
  const unknown = Object.keys(file).filter((name) => !Object.hasOwn(settings, name))
  // Those that look like a setting have a sentence of their own.
  const others = unknown.filter((name) => !warnings.some((text) => text.includes(` ${name} `)))
  return others.length === 0 ? [] : [note(`${fileName} has what is no setting: ${others.join(', ')}.`)]
}
