import type { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import type { Diagnosis, Level } from '../doctor/finding.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { VERSION } from '../version.ts'
import { ENV_FILE, misspeltVariables, readEnvFile } from './shared/env-file.ts'
import { addCommand, type JsonOption, show, type Terminal } from './shared/terminal.ts'

/** Adds `doctor`, which reads `.env` itself, and reports errors in the file as findings. */
export function addDoctor(program: Command, terminal: Terminal): void {
  const description = 'check settings, files, store and server, and report problems; changes nothing'
  addCommand(program, 'doctor', description).action(async (options: JsonOption) => {
    const { diagnose } = await import('../doctor/doctor.ts')
    const { worst, worstLast } = await import('../doctor/finding.ts')
    const found = await diagnose(readSource(terminal), Date.now)
    const status = worst(found)
    const findings = found.map(({ level, subject, text, advice = null }) => ({ level, subject, text, advice }))
    const result = { status, version: VERSION, checked_at: timestamp(Date.now()), findings }
    await show(terminal, options, result, [...worstLast(found).map(line), '', summary(found)].join('\n'))
    if (status === 'error') throw new OperatorError('Something is wrong: see the errors.')
  })
}

function readSource({ env }: Terminal) {
  const { settings: file, warnings, errors } = readEnvFile(ENV_FILE)
  // The server loads the whole file, and the store looks this up in the environment.
  if (file.PGPASSFILE !== undefined) env.PGPASSFILE ??= file.PGPASSFILE
  warnings.push(...misspeltVariables(Object.keys(env)))
  return { env, file, fileName: ENV_FILE, warnings, errors }
}

function line({ level, subject, text, advice }: Diagnosis): string {
  const words = `${level.padEnd(7)}  ${subject.padEnd(8)}  ${text}`
  return (advice === undefined ? words : `${words} ${advice}`).replaceAll('\n', ' ')
}

function summary(found: Diagnosis[]): string {
  const count = (level: Level) => found.filter((finding) => finding.level === level).length
  return `errors: ${count('error')}, warnings: ${count('warning')}, notes: ${count('note')}, ok: ${count('ok')}`
}
