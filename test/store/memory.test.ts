import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Application } from '../../src/issuer/application.ts'
import { createMemory } from '../../src/store/memory.ts'
import { openDatabase } from '../../src/store/sqlite-database.ts'
import { temporaryFolder } from '../world.ts'

function setting(t: Test, room?: number) {
  const file = join(temporaryFolder(t), 'store.db')
  const { db } = openDatabase(file)
  const other = new Database(file)
  t.teardown(() => {
    other.close()
    db.close()
  })
  const looked: string[] = []
  const look = (clientId: string) => {
    looked.push(clientId)
    return clientId.startsWith('nobody') ? undefined : ({ clientId } as Application)
  }
  let inPlace = true
  const assertInPlace = () => {
    if (!inPlace) throw new Error('not in place')
  }
  const { hold, forget } = createMemory(db, { assertInPlace, ...(room && { room }) })
  const memory = { find: hold(look), forget, misplace: () => (inPlace = false) }
  return { memory, other, looked }
}

t.test(
  'Memory: an application is looked up once, and again when another process has changed the database',
  async (t) => {
    const { memory, other, looked } = setting(t)
    memory.find('a')
    memory.find('a')
    await nextTurn()
    t.match(memory.find('a'), { clientId: 'a' })
    t.strictSame(looked, ['a'])

    other.exec(`INSERT INTO applications (client_id, name, developer_email, created_at) VALUES ('b', '', '', 0)`)
    await nextTurn()
    memory.find('a')
    t.strictSame(looked, ['a', 'a'])
  },
)

t.test(
  'Memory: what is forgotten is looked up again; that a name is not there is remembered like one that is',
  async (t) => {
    const { memory, looked } = setting(t)
    memory.find('a')
    memory.forget()
    memory.find('a')
    t.equal(memory.find('nobody'), undefined)
    t.equal(memory.find('nobody'), undefined)
    t.strictSame(looked, ['a', 'a', 'nobody'])
    memory.forget()
    memory.find('nobody')
    t.strictSame(looked, ['a', 'a', 'nobody', 'nobody'])
  },
)

t.test('Memory: it is bounded', async (t) => {
  const { memory, looked } = setting(t, 2)
  for (const clientId of ['a', 'b', 'a', 'b', 'c', 'c', 'a']) memory.find(clientId)
  t.strictSame(looked, ['a', 'b', 'c', 'a'])

  for (let n = 0; n < 1001; n++) memory.find(`nobody ${n}`)
  memory.find('nobody 1000')
  t.equal(looked.length, 4 + 1001)
  memory.find('nobody 0')
  t.equal(looked.length, 4 + 1002, 'and so is the memory of names that are not there')
})

t.test('Memory: nothing is told from it when the database is not in its place any more', async (t) => {
  const { memory } = setting(t)
  memory.find('a')
  memory.misplace()
  await nextTurn()
  t.throws(() => memory.find('a'), { message: 'not in place' })
})
