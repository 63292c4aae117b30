import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseToken, tokenIdText } from '../../../src/domain/token.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { closedWithoutKey } from '../promises/closed.ts'
import { type Cluster, openCluster } from '../promises/cluster.ts'
import { guessedWithoutLockOut } from '../promises/guessing.ts'
import { revokedAtOnce } from '../promises/revoked.ts'
import { rotatedWithoutOutage } from '../promises/rotation.ts'
import { searchFiles, useAllSecrets } from '../promises/secrets.ts'
import { staysSmall } from '../promises/table.ts'
import { attempt, type Trial, type World } from '../trial.ts'
import { tokenRequest } from '../world/client.ts'
import { makeData, runCommand, seed } from '../world/data.ts'
import { type Entry, startLoad } from '../world/ledger.ts'
import { withPostgres } from '../world/postgres.ts'
import { startServer } from '../world/server.ts'
import { compare } from './timing.ts'

/** The id in a token, as the log has it. */
const idOf = (token: string) => tokenIdText((parseToken(token) as { id: Buffer }).id)

/** Microseconds: what nobody sees from outside, even on a busy machine. */
const LIMIT = 2

/** Microseconds: a tenth of what a check of an imported secret takes. */
const IMPORTED_LIMIT = 10_000

/** What PostgreSQL is asked for, and therefore in its log if that has all statements: names, whatever a caller sends as such. */
const NAMES = /^a secret as (the client id|a suite) in .*\/log$/

export const promises: Trial = {
  name: 'promises',
  title: 'what token servers are known to get wrong, one line for each: how it was shown, and what was seen',
  async run(world) {
    await attempt(world, 'on SQLite', () => onSqlite(world))
    await attempt(world, 'ids that cannot be told by time', () => idsUntold(world))
    await attempt(world, 'a table that stays small', () => staysSmall(world))
    // Its log, which is searched, has every statement with its parameters.
    const settings = { log_statement: 'all', log_parameter_max_length: '-1' }
    const onThreeNodes = () =>
      withPostgres({ settings }, async (postgres) => onPostgres(await openCluster(world, postgres)))
    await attempt(world, 'on PostgreSQL', onThreeNodes)
  },
}

async function onSqlite(world: World): Promise<void> {
  const data = makeData(world, join(world.folder, 'data'), 1)
  const adminPort = await freePort()
  data.env.ADMIN_ADDRESS = `127.0.0.1:${adminPort}`
  const server = await startServer(world, data, { HANDOVER: 'on', LOG_LEVEL: 'debug', TMPDIR: world.folder })
  await guessedWithoutLockOut(world, data, server)
  const used = await useAllSecrets({ world, store: data, port: server.port, adminPort })
  await runCommand(data, ['backup', join(world.folder, 'backup.db')])
  // The WAL stays as it is.
  await server.kill()
  expectNoSecret(world, 'SQLite', [world.folder], used, [/tokens\.db(-wal)?$/, /backup\.db$/, /\.log$/])
}

async function onPostgres(cluster: Cluster): Promise<void> {
  const { world, store, nodes, postgres } = cluster
  for (const show of [revokedAtOnce, rotatedWithoutOutage, closedWithoutKey]) {
    await attempt(world, show.name, () => show(cluster))
  }
  const { port, adminPort } = nodes.at(-1) as (typeof nodes)[0]
  const used = await useAllSecrets({ world, store, port, adminPort })
  await everyTokenInLog(cluster)
  await postgres.query('CHECKPOINT')
  const folders = [world.folder, dirname(postgres.data)]
  expectNoSecret(world, 'PostgreSQL', folders, used, [/\/base\//, /\/pg_wal\//, /\/log$/, /server-\d+\.log$/])
}

type Used = Awaited<ReturnType<typeof useAllSecrets>>

function expectNoSecret(world: World, database: string, folders: string[], { made, clientId }: Used, kinds: RegExp[]) {
  const { files, bytes, known, ...found } = searchFiles(folders, made, clientId)
  const secrets = found.secrets.filter((place) => !NAMES.test(place))
  const seen = kinds.filter((kind) => known.some((file) => kind.test(file)))
  world.expect(
    secrets.length === 0 && seen.length === kinds.length,
    `secrets and tokens in no file in clear, ${database}: ${Object.keys(made).length} kinds of them, made, used, or sent in a wrong place; a search of all bytes for pieces of each, also in hexadecimal, base64 and UTF-16`,
    `${files} files, ${Math.round(bytes / 2 ** 20)} MiB: ${secrets.slice(0, 5).join(', ') || 'none'}; a client id, for comparison, is in ${seen.length} of ${kinds.length} kinds of files: ${kinds.map(({ source }) => source).join(' ')}`,
  )
}

/** Stops the nodes: then all is written. */
async function everyTokenInLog({ world, store, nodes, ports }: Cluster): Promise<void> {
  const ledger: Entry[] = []
  const { applications } = store
  const habits = { connections: 16, revoke: 0.2, twice: 0 }
  const load = startLoad(ports, { applications, random: world.random, ledger, habits })
  await sleep(world.size(10_000, 2000))
  await load.stop()
  for (const node of nodes) await node.stop()
  const lines = nodes.flatMap((node) => node.log().trim().split('\n')).map((line) => JSON.parse(line))
  /** How many of the tokens have not exactly one line with this message. */
  const withoutLine = (message: string, tokens: Entry[]) => {
    const counts = Map.groupBy(
      lines.filter(({ msg }) => msg === message),
      (line) => `${line.token_id} ${line.client_id}`,
    )
    const names = tokens.map(({ token, application }) => `${idOf(token)} ${application.client_id}`)
    return names.filter((name) => counts.get(name)?.length !== 1).length
  }
  const ended = ledger.filter(({ revokedAt }) => revokedAt !== undefined)
  const missing = [withoutLine('token issued', ledger), withoutLine('token revoked', ended)]
  world.expect(
    missing.join() === '0,0' && ended.length > 0,
    `every token in the log: ${applications.length} clients ask ${nodes.length} nodes for some seconds and revoke a fifth; the lines with the ids of token and client`,
    `${ledger.length} tokens: ${missing[0]} without exactly one line; ${ended.length} revocations: ${missing[1]} without`,
  )
}

/** An attacker who sends a wrong secret with ids again and again. */
async function idsUntold(world: World): Promise<void> {
  const data = makeData(world, join(world.folder, 'ids'), 1)
  const server = await startServer(world, data, { FAILURE_LIMIT: 'off' })
  const request = (client_id: string) => tokenRequest({ client_id, client_secret: 'x'.repeat(40) })
  const [known, unknown] = [request(data.applications[0].client_id), request('x'.repeat(32))]
  const name = (kind: string) =>
    `ids that cannot be told by time: ${kind}, with a wrong secret, in turns in random order; a bootstrap over blocks of rounds for the median difference`
  const fast = { known, 'an unknown id against one with a generated secret': unknown }
  await compare(world, server.port, fast, { name, rounds: world.size(30_000, 3000), limit: LIMIT })
  // From now on each refusal takes as long as a check of an imported secret.
  const imported = { client_id: 'imported', client_secret: 'chosen-by-a-partner-years-ago' }
  seed(data, { applications: [{ ...imported, name: 'Imported', developer_email: 'dev@partner.example' }] })
  const slow = { imported: request('imported'), 'an unknown id against one with an imported secret': unknown }
  await compare(world, server.port, slow, { name, rounds: world.size(100, 20), warmUp: 3, limit: IMPORTED_LIMIT })
  await server.stop()
}
