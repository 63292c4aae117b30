import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { parse } from 'acorn'
import t from 'tap'
import { type Mutation, mutationsOf } from '../../mutate/mutations.ts'

const ROOT = join(import.meta.dirname, '../..')

const apply = (source: string, { start, end, replacement }: Mutation) =>
  source.slice(0, start) + replacement + source.slice(end)

/** The mutants of one line. */
const mutantsOf = (source: string) => mutationsOf('a.ts', source).map((mutation) => apply(source, mutation))

t.test('Mutations: an operator, a value or a statement is changed at a time', async (t) => {
  const cases: Record<string, string[]> = {
    'const a = b as number < (c)': ['const a = b as number <= (c)'],
    'const a = !b && c': ['const a = b && c', 'const a = !b || c'],
    'const a = b ?? c': ['const a = (b)', 'const a = (c)'],
    'const a = b?.c': ['const a = b.c'],
    'const a = Math.min(b)': ['const a = Math.max(b)'],
    'const a = b.toString(true)': ['const a = b.toString(false)'],
    'const LIMIT = 8 * K\nconst a = 500\n': [
      'const LIMIT = 9 * K\nconst a = 500\n',
      'const LIMIT = 8 / K\nconst a = 500\n',
    ],
    'if (a) throw b': ['if (!(a)) throw b', 'if (a) void 0'],
    'for (;;) a++': ['for (;;) void 0', 'for (;;) a--'],
    'for (;;) --a': ['for (;;) ++a', 'for (;;) void 0'],
    'const a = () => ({})': ['const a = () => (undefined)'],
    'const a = () => void b': [],
    'const a = await b()': ['const a = b()'],
    'const a: B = `\n  DELETE FROM c WHERE d < ? ORDER BY d`': [
      'const a: B = `\n  DELETE FROM c WHERE d <= ? ORDER BY d`',
      'const a: B = `\n  DELETE FROM c WHERE d < ? `',
    ],
  }
  for (const [source, mutants] of Object.entries(cases)) t.strictSame(mutantsOf(source), mutants, source)
  t.strictSame(mutantsOf('function a() { return b }\n'), ['function a() { return undefined }\n'])
  t.strictSame(mutantsOf('function a() { return undefined }\n'), [])
})

t.test('Mutations: every mutant of src is a program', async (t) => {
  const files = globSync('src/**/*.ts', { cwd: ROOT })
  const mutants = files.flatMap((file) => {
    const source = readFileSync(join(ROOT, file), 'utf8')
    return mutationsOf(file, source).map((mutation) => ({ mutation, source }))
  })
  t.ok(mutants.length > 500)
  const broken = mutants.filter(({ mutation, source }) => !isProgram(apply(source, mutation)))
  t.strictSame(
    broken.map(({ mutation }) => mutation),
    [],
  )
})

function isProgram(source: string): boolean {
  try {
    parse(stripTypeScriptTypes(source), { ecmaVersion: 'latest', sourceType: 'module' })
    return true
  } catch {
    return false
  }
}
