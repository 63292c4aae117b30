import { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import type { Diagnosis, Level } from '../doctor/finding.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { VERSION } from '../version.ts'
import { ENV_FILE, misspeltVariables, readEnvFile } from './shared/env-file.ts'
import { type JsonOption, show, type Terminal, withJson } from './shared/terminal.ts'

/** `doctor`: whether all is well. It reads `.env` itself, for what is wrong there is a finding, too. */
export function doctorCommand(terminal: Terminal): Command {
  return withJson(new Command('doctor'))
    .description('look at settings, files, store and server, say what is wrong, and change nothing')
    .action(async (options: JsonOption) => {
      const { diagnose } = await import('../doctor/doctor.ts')
      const { worst, worstLast } = await import('../doctor/finding.ts')
      const found = await diagnose(readSource(terminal), Date.now)
      const status = worst(found)
      const result = { status, version: VERSION, checked_at: timestamp(Date.now()), findings: found.map(view) }
      await show(terminal, options, result, [...worstLast(found).map(line), '', summary(found)].join('\n'))
      if (status === 'error') throw new OperatorError('Something is wrong.')
    })
}

function readSource({ env }: Terminal) {
  const { settings: file, warnings, errors } = readEnvFile(ENV_FILE)
  warnings.push(...misspeltVariables(Object.keys(env)))
  return { env, file, fileName: ENV_FILE, warnings, errors }
}

function view({ level, subject, text, advice }: Diagnosis) {
  return { level, subject, text, advice: advice ?? null }
}

function line({ level, subject, text, advice }: Diagnosis): string {
  const words = `${level.padEnd(7)}  ${subject.padEnd(8)}  ${text}`
  return (advice === undefined ? words : `${words} ${advice}`).replaceAll('\n', ' ')
}

function summary(found: Diagnosis[]): string {
  const count = (level: Level) => found.filter((finding) => finding.level === level).length
  return `errors: ${count('error')}, warnings: ${count('warning')}, notes: ${count('note')}, ok: ${count('ok')}`
}
