import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { createLog } from '../../src/telemetry/log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

t.test('Log: on a terminal it is coloured lines for people', async (t) => {
  const destination = join(temporaryFolder(t), 'log')
  const log = createLog('info', { isTTY: true, destination })
  log.info({ client_id: 'a', suites: ['b'] }, 'token issued')
  const shown = () => readFileSync(destination, 'utf8')
  t.match(shown(), '\u001b[32mINFO\u001b[39m: token issued')
  const plain = () => stripVTControlCharacters(shown())
  t.match(plain(), /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: token issued \{ client_id: 'a', suites: \[ 'b' \] \}\n$/)
  log.info('stopped')
  t.match(plain(), /INFO: stopped\n$/)
  log.error({ err: new Error('broken') }, 'request failed')
  const inLines = /ERROR: request failed \{\n.* message: 'broken',\n +stack: 'Error: broken\\n' \+\n +' +at /s
  t.match(plain(), inLines, 'a line per call')
  log.warn({ name: '\u001b[2J\u009b2J\u202e', err: new Error('\u001b[2J') }, 'nothing that commands a terminal')
  t.match(shown(), /\\u001b\[2J/)
  for (const command of ['\u001b[2J', '\u009b', '\u202e']) t.notOk(shown().includes(command))
})

t.test('Log: elsewhere it is JSON lines, of the level and above, written in the background', async (t) => {
  const destination = join(temporaryFolder(t), 'log')
  writeFileSync(destination, '')
  const log = createLog('warn', { isTTY: false, destination })
  log.info('not this')
  log.warn('this')
  await until(() => readFileSync(destination, 'utf8') !== '')
  t.match(JSON.parse(readFileSync(destination, 'utf8')), { level: 'warn', msg: 'this' })
})
