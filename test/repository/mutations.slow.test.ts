import { globSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parse } from 'acorn'
import t from 'tap'
import { type Mutation, mutationsOf } from '../../lab/mutate/mutations.ts'
import { ROOT, read } from './files.ts'

const apply = (source: string, { start, end, replacement }: Mutation) =>
  source.slice(0, start) + replacement + source.slice(end)

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
    'function a() { return b }\n': ['function a() { return undefined }\n'],
    'function a() { return undefined }\n': [],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a program
    'const a = b || html`<p>${c && d}</p>`': ['const a = b && html`<p>${c && d}</p>`'],
    'const a: B = `\n  DELETE FROM c WHERE d < ? ORDER BY d`': [
      'const a: B = `\n  DELETE FROM c WHERE d <= ? ORDER BY d`',
      'const a: B = `\n  DELETE FROM c WHERE d < ? `',
    ],
  }
  for (const [source, expected] of Object.entries(cases)) {
    const mutants = mutationsOf('a.ts', source).map((mutation) => apply(source, mutation))
    t.strictSame(mutants, expected, source)
  }
})

t.test('Mutations: every mutant of src is a program', async (t) => {
  let count = 0
  const broken: string[] = []
  for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
    const source = read(file)
    for (const apart of groupsApart(mutationsOf(file, source))) {
      count += apart.length
      // From the end, so that the places of the others stay. All at once, since parsing takes long.
      if (!isProgram(apart.reduceRight(apply, source))) broken.push(`${file}: one of ${JSON.stringify(apart)}`)
    }
  }
  t.ok(count > 500)
  t.strictSame(broken, [])
})

/** Puts mutations, in the order of their places, into groups in which no two change the same place. */
function groupsApart(mutations: Mutation[]): Mutation[][] {
  const groups: Mutation[][] = []
  for (const mutation of mutations) {
    const group = groups.find((group) => (group.at(-1)?.end ?? 0) <= mutation.start)
    if (group) group.push(mutation)
    else groups.push([mutation])
  }
  return groups
}

function isProgram(source: string): boolean {
  try {
    parse(stripTypeScriptTypes(source), { ecmaVersion: 'latest', sourceType: 'module' })
    return true
  } catch {
    return false
  }
}
