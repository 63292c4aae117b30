import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLog } from '../../src/telemetry/log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

t.test('Log: on a terminal it is formatted for people', async (t) => {
  const destination = join(temporaryFolder(t), 'log')
  const log = await createLog('info', { isTTY: true, destination })
  log.info({ client_id: 'a' }, 'token issued')
  t.match(readFileSync(destination, 'utf8'), /token issued/)
  t.throws(() => JSON.parse(readFileSync(destination, 'utf8')))
  log.warn({ name: '\u001b[2J\u009b2J\u202e', err: new Error('\u001b[2J') }, 'nothing that commands a terminal')
  t.match(readFileSync(destination, 'utf8'), /\\u001b\[2J/)
  for (const command of ['\u001b[2J', '\u009b', '\u202e']) t.notOk(readFileSync(destination, 'utf8').includes(command))
})

t.test('Log: elsewhere it is JSON lines, of the level and above, written in the background', async (t) => {
  const destination = join(temporaryFolder(t), 'log')
  writeFileSync(destination, '')
  const log = await createLog('warn', { isTTY: false, destination })
  log.info('not this')
  log.warn('this')
  await until(() => readFileSync(destination, 'utf8') !== '')
  t.match(JSON.parse(readFileSync(destination, 'utf8')), { level: 'warn', msg: 'this' })
})
