import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Application } from '../../../src/domain/application.ts'
import type { Store } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { createIssuer } from '../../../src/issuer/issuer.ts'
import { AUDIT } from '../../support/audit.ts'
import { failures } from '../../support/failures.ts'
import { keyOf } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'

/** What is to be brought to the disk: the test says when it is there, until it ends. */
const flushes: ((error: Error | null) => void)[] = []
let isOver = false
Object.assign(fs, {
  fdatasync(_file: number, done: (error: Error | null) => void) {
    if (isOver) done(null)
    else flushes.push(done)
  },
})
syncBuiltinESMExports()
const { openStore } = await import('../../../src/store/open.ts')

const secret = { digest: '$sha256$A', createdAt: START }
const token = mintToken(keyOf(1), START).stored

async function open(t: Test, file = join(temporaryFolder(t), 'store.db')): Promise<Store> {
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 200 })
  t.teardown(async () => {
    isOver = true
    await store.close()
    isOver = false
  })
  return store
}

async function nextFlush(): Promise<(error: Error | null) => void> {
  while (flushes.length === 0) await sleep(1)
  return flushes.shift() as (error: Error | null) => void
}

/** Something that is written, with all that it needs from the disk. */
async function flush<Result>(write: Promise<Result>): Promise<Result> {
  ;(await nextFlush())(null)
  return write
}

/** An application, and an access token of it. */
async function tokenOf(store: Store): Promise<[Application, string]> {
  const newcomer = { clientId: 'a', name: 'A', developerEmail: 'a@b.example', createdAt: START, secret, suites: [] }
  await flush(store.register({ suites: [], applications: [{ ...newcomer, skipNamesake: false }] }, AUDIT))
  const application = (await store.findApplication('a')) as Application
  const { accessToken } = await flush(
    createIssuer({ store, failures: failures(), now: () => START }).issue(application),
  )
  return [application, accessToken]
}

const WRITES: Record<string, (store: Store) => Promise<unknown>> = {
  'a suite': (store) =>
    store.register({ suites: [{ suiteId: 's', name: 'S', createdAt: START, secret }], applications: [] }, AUDIT),
  'a new secret': (store) => store.rotateSecret('s', secret, START, START, AUDIT),
  'a token': (store) => store.addToken(token),
  'a revocation': (store) => store.revokeToken(token.id, START),
}

t.test('SQLite: a change is answered when it is on disk, not before', async (t) => {
  const store = await open(t)
  for (const [what, write] of Object.entries(WRITES)) {
    let answered = false
    const written = write(store).then(() => {
      answered = true
    })
    const flushed = await nextFlush()
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    t.equal(answered, false, what)
    flushed(null)
    await written
  }
})

t.test(
  'RFC 7009 §2.2: a revocation is answered when it is on disk, also the second one of the same token',
  async (t) => {
    const file = join(temporaryFolder(t), 'store.db')
    const [one, other] = [await open(t, file), await open(t, file)]
    const [application, accessToken] = await tokenOf(one)
    let answers = 0
    const revoke = async (store: Store) => {
      await createIssuer({ store, failures: failures(), now: () => START }).revoke(application, accessToken)
      answers++
    }

    const first = revoke(one)
    const flushed = await nextFlush()
    const again = [revoke(one), revoke(other)]
    const otherFlushed = await nextFlush()
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    t.equal(answers, 0, 'in the same process and in another one')
    otherFlushed(null)
    await again[1]
    t.equal(answers, 1)
    flushed(null)
    await first
    ;(await nextFlush())(null)
    await again[0]
  },
)

t.test('SQLite: when the disk has failed once, this change fails and so does every later one', async (t) => {
  const store = await open(t)
  const written = t.rejects(store.addToken(token), { name: 'StoreUnavailable' })
  ;(await nextFlush())(new Error('EIO'))
  await written
  await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), { name: 'StoreUnavailable' })
  t.equal(flushes.length, 0, 'and is not even tried')
})
