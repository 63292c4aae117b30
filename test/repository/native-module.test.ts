import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadModule } from '../../lab/release/executable/native-module.ts'
import { needs } from '../support/needs.ts'
import { ROOT } from './files.ts'

const NAME = 'better-sqlite3.node'
const binary = readFileSync(
  join(ROOT, `node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`),
)

const skip = needs('Linux', process.platform === 'linux')

/** A folder for data, one for temporary files, and what loads the module with them. */
function world(t: Test) {
  const root = mkdtempSync(join(tmpdir(), 'token-server-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const [data, temporary] = [join(root, 'data'), join(root, 'temporary')]
  for (const folder of [data, temporary]) mkdirSync(folder, { mode: 0o700 })
  const { TMPDIR } = process.env
  process.env.TMPDIR = temporary
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  /** Loads the module, and returns from which files. */
  const load = (env: NodeJS.ProcessEnv = {}, isKept = true) => {
    const before = loadedFiles()
    loadModule({ name: NAME, binary }, isKept, { DATABASE_URL: `sqlite:${join(data, 'token-server.db')}`, ...env })
    const loaded = loadedFiles().difference(before)
    t.strictSame(readdirSync(temporary), [])
    return [...loaded].map((file) => file.replace(root, '').replace(/token-server-\w{6}/, 'X'))
  }
  return { root, data, temporary, load }
}

/** The modules in the memory of this process. */
const loadedFiles = () =>
  new Set(readFileSync('/proc/self/maps', 'utf8').match(/\/\S*better-sqlite3\.node( \(deleted\))?$/gm))

const IN_DATA = [`/data/${NAME}`]
const TEMPORARY = [`/temporary/X/${NAME} (deleted)`]

t.test('Executable: the driver is kept in the folder of the database, for this user only', { skip }, async (t) => {
  const { data, load } = world(t)
  t.strictSame(load(), IN_DATA)
  t.strictSame(readdirSync(data), [NAME])
  const file = join(data, NAME)
  const { ino, mode } = statSync(file)
  t.equal(mode & 0o777, 0o700)
  load()
  t.equal(statSync(file).ino, ino, 'it is not written again')
  const changes = [() => writeFileSync(file, 'another', { mode: 0o700 }), () => writeFileSync(file, binary)]
  for (const change of changes) {
    // It must not change in memory.
    rmSync(file)
    change()
    load()
    t.strictSame(readFileSync(file), binary)
    t.equal(statSync(file).mode & 0o777, 0o700)
  }
})

t.test('Executable: the driver is kept in XDG_CACHE_HOME, which is created', { skip }, async (t) => {
  const { root, data, load } = world(t)
  t.strictSame(load({ XDG_CACHE_HOME: join(root, 'a/b') }), [`/a/b/token-server/${NAME}`])
  t.equal(statSync(join(root, 'a')).mode & 0o777, 0o700)
  t.strictSame(readdirSync(data), [])
})

t.test('Executable: the driver is loaded from no folder that another user can change', { skip }, async (t) => {
  const ways: Record<string, (folder: string) => void> = {
    'of a group': (folder) => chmodSync(folder, 0o770),
    'of all': (folder) => chmodSync(folder, 0o702),
    ...(process.getuid?.() === 0 && { 'of another user': (folder: string) => chownSync(folder, 65534, 65534) }),
  }
  for (const [name, change] of Object.entries(ways)) {
    await t.test(`${name}`, async (t) => {
      const { root, data, temporary, load } = world(t)
      load()
      rmSync(join(data, NAME))
      writeFileSync(join(data, NAME), 'another')
      change(data)
      t.strictSame(load(), TEMPORARY)
      t.equal(readFileSync(join(data, NAME), 'utf8'), 'another')

      const inner = join(data, 'inner')
      mkdirSync(inner)
      symlinkSync(inner, join(root, 'link'))
      t.strictSame(load({ DATABASE_URL: `sqlite:${inner}/a.db` }), TEMPORARY, 'the folder above')
      t.strictSame(load({ DATABASE_URL: `sqlite:${root}/link/a.db` }), TEMPORARY, 'by a link')
      t.strictSame(load({ XDG_CACHE_HOME: join(data, 'new') }), TEMPORARY)
      t.notOk(existsSync(join(data, 'new')))

      change(temporary)
      process.chdir(data)
      t.teardown(() => process.chdir(ROOT))
      t.throws(load, {
        name: 'OperatorError',
        message: /^better-sqlite3\.node cannot be loaded\. .* change .*data; .*temporary; /,
      })
      t.strictSame(readdirSync(temporary), [])
    })
  }
})

t.test(
  'Executable: a folder with the sticky bit is good for temporary files, and not for the cache',
  { skip },
  async (t) => {
    const { data, temporary, load } = world(t)
    for (const folder of [data, temporary]) chmodSync(folder, 0o1777)
    t.strictSame(load(), TEMPORARY)
  },
)

t.test('Executable: doctor, and a command before there is a folder, keep no driver', { skip }, async (t) => {
  const { data, load } = world(t)
  t.strictSame(load({}, false), TEMPORARY)
  t.strictSame(load({ DATABASE_URL: `sqlite:${data}/new/a.db` }), TEMPORARY)
  t.strictSame(readdirSync(data), [])
})

t.test('Executable: a driver that cannot be written leaves nothing', { skip }, async (t) => {
  const { data, load } = world(t)
  // Its name cannot be taken by a file.
  mkdirSync(join(data, NAME))
  t.strictSame(load(), TEMPORARY)
  t.strictSame(readdirSync(data), [NAME])
})
