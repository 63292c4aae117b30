import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '../../src')

/**
 * Every room, a folder or a file at the top of src: the rooms that it may import from besides itself, and the packages; node:*
 * is every one of Node's own. What is not listed is forbidden.
 */
const ROOMS: Record<string, { rooms?: string; packages?: string }> = {
  'main.ts': { rooms: 'commands' },
  'config.ts': { rooms: 'domain', packages: 'node:net node:os zod' },
  'version.ts': { packages: 'node:fs' },
  commands: {
    rooms: 'config.ts version.ts doctor server http administration domain telemetry store',
    packages: 'node:* commander',
  },
  doctor: { rooms: 'config.ts version.ts http domain store', packages: 'node:*' },
  server: {
    rooms: 'config.ts version.ts http ops admin issuer administration domain telemetry store',
    packages: `node:async_hooks node:cluster node:crypto node:dns/promises node:net node:os node:stream
      node:timers/promises fastify`,
  },
  http: { rooms: 'issuer domain', packages: 'node:events node:http node:net fastify @fastify/formbody' },
  ops: { rooms: 'domain', packages: 'node:crypto node:fs node:http node:net' },
  admin: {
    rooms: 'administration domain',
    packages: `node:crypto node:dns/promises node:events node:fs node:http node:net node:path node:stream
      node:timers/promises fastify @fastify/formbody`,
  },
  issuer: { rooms: 'domain', packages: 'node:crypto' },
  administration: { rooms: 'domain', packages: 'node:crypto zod' },
  domain: { packages: 'node:crypto node:net node:util node:zlib' },
  telemetry: {
    rooms: 'domain',
    packages: 'node:fs node:timers/promises node:util @prometheus-io/client pino pino-pretty',
  },
  store: {
    rooms: 'version.ts domain',
    packages: `node:crypto node:fs node:fs/promises node:path node:stream node:stream/promises node:timers/promises
      node:util node:sqlite node:url better-sqlite3 pg pgpass`,
  },
}

/** The parts of the metrics library that telemetry imports one by one. */
const PARTS = `eventLoopLag heapSizeAndUsed heapSpacesSizeAndUsed osMemoryHeap processCpuTotal processHandles
  processMaxFileDescriptors processOpenFileDescriptors processRequests processResources processStartTime version`

const words = (text = '') => text.split(/\s+/)

function roomsFor(room: string): string[] {
  return [room, ...words(ROOMS[room]?.rooms)]
}

function packagesFor(room: string): string[] {
  const parts = room === 'telemetry' ? words(PARTS).map((part) => `@prometheus-io/client/lib/metrics/${part}.js`) : []
  return [...words(ROOMS[room]?.packages), ...parts]
}

interface Import {
  file: string
  room: string
  target: string
}

/** Every import of src, static and dynamic. */
const IMPORTS: Import[] = globSync('**/*.ts', { cwd: ROOT }).flatMap((file) => {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const targets = [...source.matchAll(/(?:from|import\(|^import)\s*'([^']+)'/gm)].map(([, target]) => target as string)
  return targets.map((target) => ({ file, room: roomOf(file), target }))
})

function roomOf(file: string): string {
  return file.split('/')[0] as string
}

t.test('Architecture: every room is listed, and imports between rooms run one way', async (t) => {
  t.ok(IMPORTS.length > 100)
  const wrong = IMPORTS.filter(({ file, room, target }) => {
    const other = roomOf(relative(ROOT, join(ROOT, dirname(file), target)))
    return !(room in ROOMS) || (target.startsWith('.') && !roomsFor(room).includes(other))
  })
  t.strictSame(wrong, [])
})

t.test('Architecture: a room imports the packages that it is allowed, and no other', async (t) => {
  const wrong = IMPORTS.filter(({ room, target }) => {
    const allowed = packagesFor(room)
    const pattern = target.startsWith('node:') ? 'node:*' : target
    return !target.startsWith('.') && !allowed.includes(target) && !allowed.includes(pattern)
  })
  t.strictSame(wrong, [])
})

/** The packages that only one kind of store knows. */
const DRIVERS = { sqlite: ['better-sqlite3', 'node:sqlite'], postgres: ['pg', 'pgpass'] }

t.test('Architecture: only a kind of store knows its driver, and only store/open knows the kinds', async (t) => {
  for (const [kind, drivers] of Object.entries(DRIVERS)) {
    const outside = IMPORTS.filter(({ file }) => !file.startsWith(`store/${kind}/`))
    t.strictSame(
      outside.filter(
        ({ file, target }) =>
          drivers.includes(target) || (target.split('/').includes(kind) && file !== 'store/open.ts'),
      ),
      [],
    )
  }
})
