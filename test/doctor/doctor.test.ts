import { writeFileSync } from 'node:fs'
import t from 'tap'
import { diagnose } from '../../src/doctor/doctor.ts'
import { freePort } from '../support/free-port.ts'
import { startRecorder } from '../support/recorder.ts'
import { register } from '../support/register.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** What is looked at with these settings, each subject once, and the texts of what is wrong. */
async function look(env: NodeJS.ProcessEnv) {
  const source = { env: { PORT: '0', ...env }, file: {}, fileName: '.env', warnings: [], errors: [] }
  const found = await diagnose(source, Date.now)
  const errors = found.filter(({ level }) => level === 'error')
  return { subjects: [...new Set(found.map(({ subject }) => subject))], errors }
}

const ALWAYS = ['settings', 'program', 'limits', 'clock']

t.test('Doctor: what is looked at depends on where the store is', async (t) => {
  const { env } = temporaryDatabase(t)
  t.strictSame((await look(env)).subjects, [...ALWAYS, 'disk', 'store', 'server'])
  const postgres = await look({ DATABASE_URL: 'postgres://u@127.0.0.1:1/d' })
  t.strictSame(postgres.subjects, [...ALWAYS, 'password', 'store', 'server'])
  const socket = await look({ ...env, ADMIN_ADDRESS: 'unix:/nowhere/admin.sock' })
  t.strictSame(socket.subjects, [...ALWAYS, 'disk', 'store', 'server', 'admin'])
  t.strictSame((await look({ DATABASE_URL: 'sqlite::memory:' })).subjects, [...ALWAYS, 'server'])
})

t.test('Doctor: what a wrong setting leaves unknown is not looked at, and all else is', async (t) => {
  const { env } = temporaryDatabase(t)
  t.strictSame((await look({ DATABASE_URL: 'nonsense' })).subjects, [...ALWAYS, 'server'])
  for (const wrong of [{ PORT: 'http' }, { HOST: '' }]) {
    t.strictSame((await look({ ...env, ...wrong })).subjects, [...ALWAYS, 'disk', 'store'])
  }
})

t.test('Doctor: a previous store that is missing, or none, is an error', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const { errors } = await look({ ...env, PREVIOUS_DATABASE_URL: `sqlite:${file}.old` })
  t.match(errors, [
    { subject: 'store' },
    { subject: 'previous', text: `PREVIOUS_DATABASE_URL: there is no database at ${file}.old.` },
  ])
  writeFileSync(`${file}.old`, 'This is no database, however long it may be. '.repeat(100))
  const unreadable = await look({ ...env, PREVIOUS_DATABASE_URL: `sqlite:${file}.old` })
  t.match(unreadable.errors, [{ subject: 'store' }, { subject: 'previous', text: /cannot be read: file is not a/ }])
})

t.test('Doctor: where a server runs and its database is gone, the last advice is not to make one', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const { address } = await startRecorder(t, (response) => response.end())
  const [HOST, PORT] = address.split(':') as [string, string]
  const lost = { subject: 'server', advice: /^Do not start, restart or migrate: .* Put it back, or restore a backup/ }
  const isLost = async (port = PORT) => (await look({ ...env, HOST, PORT: port })).errors.at(-1)
  t.match(await isLost(), {
    ...lost,
    text: `A server runs at http://${address}, and there is no database at ${file}`,
  })
  writeFileSync(file, '')
  t.match(await isLost(), lost, 'an empty file is none')
  t.match(await isLost(String(await freePort())), { text: /^No server answers at / })
  await register(env)
  t.strictSame((await look({ ...env, HOST, PORT })).errors, [])
})
