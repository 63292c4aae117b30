import type { Command } from 'commander'
import { noticeFiles } from '../config.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { randomString, withPeriod } from '../domain/text.ts'
import { readSettings } from './shared/env-file.ts'
import { addCommand, print, type Terminal } from './shared/terminal.ts'

export function addNotices(program: Command, terminal: Terminal): void {
  const notices = program.command('notices').description('post to NOTICE_URL_FILE what needs attention')
  addCommand(notices, 'test', 'post a notice now, and say what came of it').action(async (options) => {
    const files = noticeFiles(readSettings(terminal))
    if (!files) throw new OperatorError('NOTICE_URL_FILE is none: name a file that has the URL.')
    const { postNotice } = await import('../administration/notice-receiver.ts')
    const messageId = `msg_${randomString(24)}`
    const text = 'token-server: this is a test. What needs attention will be posted here.'
    const notice = { messageId, body: JSON.stringify({ text, event: 'test' }) }
    const { problem, host, status, isSigned } = await postNotice(files, notice, { now: Date.now() })
    if (problem !== undefined)
      throw new OperatorError(host ? `${host} did not take the notice: ${withPeriod(problem)}` : problem)
    const words = `${host} took the notice: it answered ${status}. It was ${isSigned ? '' : 'not '}signed.`
    await print(terminal, options, { host, status, webhook_id: messageId, signed: isSigned }, words)
  })
}
