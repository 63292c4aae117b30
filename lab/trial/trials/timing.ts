import { join } from 'node:path'
import { median } from '../../bench/row.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import type { Random } from '../random.ts'
import type { Trial, World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { makeData, runCommand } from '../world/data.ts'
import { startServer } from '../world/server.ts'

/** Larger differences count as visible from outside. Microseconds. */
const LIMIT = 1
const WARM_UP = 500
const BLOCKS = 200
const RESAMPLES = 2000

export const timing: Trial = {
  name: 'timing',
  title: 'do refusals take equally long for every reason?',
  async run(world) {
    const data = makeData(world, join(world.folder, 'data'), 5)
    const [known, suspended, removed, expired, limited] = data.applications as [
      Credentials,
      Credentials,
      Credentials,
      Credentials,
      Credentials,
    ]
    await runCommand(data, ['applications', 'suspend', suspended.client_id])
    await runCommand(data, ['applications', 'remove', removed.client_id])
    await runCommand(data, ['secrets', 'rotate', expired.client_id, '--overlap', '0s'])
    await runCommand(data, ['applications', 'update', limited.client_id, '--source', '192.0.2.0/24'])
    // The limit on failures would delay most of these answers on purpose.
    const server = await startServer(world, data, { FAILURE_LIMIT: 'off', LOG_LEVEL: 'info' })
    const unknown = 'x'.repeat(known.client_id.length)
    const requests = {
      'a wrong secret': tokenRequest({ ...known, client_secret: suspended.client_secret }),
      'a wrong secret, once more': tokenRequest({ ...known, client_secret: expired.client_secret }),
      'an unknown client': tokenRequest({ ...suspended, client_id: unknown }),
      'a suspended application': tokenRequest(suspended),
      'a removed application': tokenRequest(removed),
      'an expired secret': tokenRequest(expired),
    }
    // Source addresses take time with any secret.
    const elsewhere = {
      'a wrong secret from elsewhere': tokenRequest({ ...limited, client_secret: known.client_secret }),
      'a correct secret from elsewhere': tokenRequest(limited),
    }
    const rounds = world.size(30_000, 3000)
    await compare(world, server.port, requests, { rounds, name: (kind) => `${kind}, against a wrong secret` })
    await compare(world, server.port, elsewhere, {
      rounds,
      name: (kind) => `${kind}, against a wrong secret from there`,
    })
    await server.stop()
  },
}

/**
 * Sends each request once in every round, and compares its times with those of the first one: whether the 95 % interval of the
 * median of the differences is within the limit, in microseconds.
 */
export async function compare<Kind extends string>(
  world: World,
  port: number,
  requests: Record<Kind, string>,
  {
    rounds,
    name,
    limit = LIMIT,
    warmUp = WARM_UP,
  }: { rounds: number; name: (kind: Kind) => string; limit?: number; warmUp?: number },
): Promise<void> {
  const { random } = world
  const times = await measure(port, requests, { rounds, warmUp, random })
  const [first, ...others] = Object.keys(requests) as Kind[]
  const base = times[first as Kind]
  // A quick run is not exact enough for small differences.
  const decisive = world.size(1, 5)
  for (const kind of others) {
    const [low, high] = interval(
      times[kind].map((time, round) => time - (base[round] as number)),
      random,
    )
    const done = `${name(kind)}, ${rounds} times`
    const found = `differs by ${low.toFixed(2)} to ${high.toFixed(2)} µs (95 %)`
    if (low > -limit && high < limit) world.expect(true, done, `no difference above ${limit} µs: ${found}`)
    else if (low > limit * decisive || high < -limit * decisive) world.expect(false, done, found)
    else world.report(done, `cannot be judged by this run: ${found}`)
  }
}

/** Sends each request once in every round, in random order, on one connection. Resolves to the times in microseconds. */
async function measure<Name extends string>(
  port: number,
  requests: Record<Name, string>,
  { rounds, warmUp, random }: { rounds: number; warmUp: number; random: Random },
) {
  const names = Object.keys(requests) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>
  const client = openClient(port)
  for (let round = -warmUp; round < rounds; round++) {
    for (const name of shuffled(names, random)) {
      const startedAt = process.hrtime.bigint()
      const status = await client.status(requests[name])
      const time = Number(process.hrtime.bigint() - startedAt) / 1000
      if (status !== 401) throw new Error(`${name} is answered with ${status}`)
      if (round >= 0) times[name].push(time)
    }
  }
  client.close()
  return times
}

function shuffled<T>(all: T[], random: Random): T[] {
  const result = [...all]
  for (let at = result.length - 1; at > 0; at--) {
    const other = random.between(0, at + 1)
    ;[result[at], result[other]] = [result[other] as T, result[at] as T]
  }
  return result
}

/**
 * The 95 % confidence interval of the median of the differences: a bootstrap over blocks of consecutive rounds, because a slow
 * moment of the machine affects many of them.
 */
function interval(differences: number[], random: Random): [number, number] {
  const length = Math.ceil(differences.length / BLOCKS)
  const medians = Array.from({ length: BLOCKS }, (_, at) => differences.slice(at * length, (at + 1) * length))
    .filter((block) => block.length > 0)
    .map(median)
  const resampled = Array.from({ length: RESAMPLES }, () => median(medians.map(() => random.pick(medians))))
  const sorted = resampled.toSorted((a, b) => a - b)
  return [sorted[Math.floor(RESAMPLES * 0.025)] as number, sorted[Math.ceil(RESAMPLES * 0.975)] as number]
}
