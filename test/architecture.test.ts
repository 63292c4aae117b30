import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..', 'src')

/** Which room may import from which; a room may always import from itself. */
const ALLOWED: Record<string, string[]> = {
  'main.ts': ['commands'],
  commands: ['app.ts', 'config.ts', 'log.ts', 'http', 'issuer', 'store'],
  'app.ts': ['http', 'issuer'],
  'log.ts': ['config.ts', 'log-stream.ts'],
  'log-stream.ts': [],
  'config.ts': [],
  http: ['issuer'],
  issuer: [],
  store: ['issuer'],
}

const roomOf = (file: string) => file.split('/')[0] as string

t.test('Architecture: imports run one way', async (t) => {
  const files = globSync('**/*.ts', { cwd: ROOT })
  t.ok(files.length > 20)
  for (const file of files) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    for (const [, target] of source.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const room = roomOf(relative(ROOT, join(ROOT, dirname(file), target as string)))
      if (room !== roomOf(file)) t.ok(ALLOWED[roomOf(file)]?.includes(room), `${file} imports ${target}`)
    }
  }
})

t.test('Architecture: the issuer knows neither HTTP nor SQL, only the store knows its driver', async (t) => {
  for (const file of globSync('**/*.ts', { cwd: ROOT })) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    const packages = [...source.matchAll(/from '([^.][^']*)'/g)].map(([, name]) => name as string)
    const room = roomOf(file)
    if (room === 'issuer')
      t.strictSame(
        packages.filter((name) => /fastify|sqlite|pino|^node:http/.test(name)),
        [],
        file,
      )
    if (room !== 'store') t.notOk(packages.includes('better-sqlite3'), file)
  }
})
