import t from 'tap'
import { startToMove } from '../support/move.ts'
import { startPathProxy } from '../support/path-proxy.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { startServer } from '../support/spawn.ts'
import { startTokenLoad } from '../support/token-load.ts'

const { createDatabase } = await startDatabases()

t.test('Moving, behind a proxy with two nodes: the same, and every request is answered', async (t) => {
  const { after, owners, copy, old } = await startToMove(t, await createDatabase(), { PORT: '0' })
  const portOf = ({ address }: { address: string }) => Number(new URL(address).port)
  const proxy = await startPathProxy(t, portOf(old))
  const load = startTokenLoad(owners, { port: () => proxy.port })
  await load.spend('before')
  load.enter('copying')
  const copied = await copy()
  t.equal(copied.status, 0, copied.err)
  await load.spend('copied', ['before'])

  const server = await startServer(t, after)
  await proxy.send('/v1/oauth/verify', portOf(server))
  await load.spend('checks moved', ['before', 'copied'])
  await proxy.send('/v1/oauth/revoke', portOf(server))
  await load.spend('revocations moved', ['before', 'copied', 'checks moved'])
  await proxy.send('/v1/oauth/accesstoken', portOf(server))
  old.child.kill('SIGTERM')
  t.match(await old.exited, { status: 0 })
  await load.spend('alone', ['before', 'copied', 'revocations moved'])
  await load.stop()

  t.strictSame(load.wrong, [])
  t.strictSame(load.unanswered, {})
})
