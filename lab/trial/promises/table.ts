import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { openDisk } from '../disk/disk.ts'
import type { World } from '../trial.ts'
import { openClient } from '../world/client.ts'
import { makeData } from '../world/data.ts'
import { startServer } from '../world/server.ts'
import { until } from '../world/until.ts'

const HOUR_NS = 3600n * 1_000_000_000n
const CONNECTIONS = 16

/** A server that issues as many tokens each hour. It is started every hour, because it purges nothing for an hour after a jump. */
export async function staysSmall(world: World): Promise<void> {
  const device = openDisk(world, 'hours')
  const data = makeData(world, device.folder, 1, device.env)
  const [hours, tokens] = [world.size(24, 4), world.size(2000, 500)]
  const rows: number[] = []
  const bytes: number[] = []
  let issued = 0
  for (let hour = 0; hour < hours; hour++) {
    // A minute more than the lifetime of a token.
    device.set('clockOffset', (BigInt(hour) * HOUR_NS * 61n) / 60n)
    const server = await startServer(world, data)
    if (hour > 0) await until(() => countTokens(data.file) === 0, 'the purge of the hour before', 20)
    const queue = Array.from({ length: tokens }).values()
    const client = async () => {
      const connection = openClient(server.port)
      for (const _ of queue) if (await connection.token(data.applications[0])) issued++
      connection.close()
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, client))
    rows.push(countTokens(data.file))
    await server.stop()
    bytes.push(statSync(data.file).size)
  }
  const [early = 0, last = 0] = [bytes[1], bytes.at(-1)]
  world.expect(
    issued === hours * tokens && Math.max(...rows) <= tokens && last <= early * 1.05,
    `a table that stays small: ${tokens} tokens an hour for ${hours} hours, on SQLite, with the clock moved; rows and size of the file after each hour`,
    `${issued} tokens; ${Math.max(...rows)} rows at most; ${early} bytes after two hours, ${last} at the end`,
  )
}

function countTokens(file: string): number {
  const db = new Database(file, { readonly: true })
  const count = db.prepare('SELECT count(*) FROM tokens').pluck().get() as number
  db.close()
  return count
}
