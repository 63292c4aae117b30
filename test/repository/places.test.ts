import { existsSync, globSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { ROOT, read } from './files.ts'

const MARKDOWN = ['docs/architecture.md', 'docs/adr/*.md', 'CONTRIBUTING.md', 'lab/{,*/}README.md']
const PAGES = globSync(MARKDOWN, { cwd: ROOT })

/** Written by a command, or a pattern of names. */
const NO_FILE =
  /^(dist|lib|prebuilds)\/|^THIRD-PARTY\.md$|^oauth-token-server-X|^docs\/performance\/results\.json$|NNNN/

/** A code span that is a folder, with a slash at its end, or a file, also with a line; after the name of something in it. */
const PLACE =
  /(?:`(?<name>\w+)`(?: in | \())?`(?<place>(?:[\w.-]+\/)*(?:[\w.-]+\/|[\w.-]+\.(?:ts|js|css|c|md|json|html|yaml|sql)))(?::(?<line>\d+))?`/g

interface Place {
  place: string
  name?: string
  line?: string
}

/** The paragraphs, rows and items of a page: places in one of them may be relative to those before. */
const partsOf = (page: string) => page.replace(/^ *```[^\n]*\n.*?^ *```$/gms, '').split(/\n\n|\n(?=\||- |\d+\. )/)

/** What is wrong with the places of a part of a page, which are in one of these folders. */
function wrongIn(part: string, folders: string[]): string[] {
  const near = new Set(folders)
  return [...part.matchAll(PLACE)].flatMap(({ groups }) => {
    const { place, name, line = '0' } = groups as unknown as Place
    if (NO_FILE.test(place)) return []
    const found = [...near].map((folder) => join(folder, place)).filter((path) => existsSync(join(ROOT, path)))
    const [path] = found
    if (path === undefined) return [place]
    near.add(place.endsWith('/') ? path : dirname(path))
    if (statSync(join(ROOT, path)).isDirectory()) return []
    const has = found.some((one) => name === undefined || new RegExp(`\\b${name}\\b`).test(read(one)))
    return has && read(path).split('\n').length > Number(line) ? [] : [`${name ?? line} in ${place}`]
  })
}

t.test('Docs: every file and folder that the architecture, a decision or lab/ names is there', async (t) => {
  for (const page of PAGES) {
    const folders = ['.', 'src', 'test', dirname(page)]
    const wrong = partsOf(read(page)).flatMap((part) => wrongIn(part, folders))
    t.strictSame(wrong, [], page)
  }
  const places = PAGES.map((page) => [...read(page).matchAll(PLACE)])
  t.ok(places.flat().length > 250)
  t.ok(places.flat().filter(({ groups }) => groups?.name).length > 9)
})

t.test('Docs: the tree of the architecture is that of the repository', async (t) => {
  const [, tree = ''] = /```diagram\n(src\/.*?)```/s.exec(read('docs/architecture.md')) ?? []
  const folders: string[] = []
  const wrong = tree.split('\n').flatMap((line) => {
    const [, indent = '', name] = /^( {0,6})(\S+)/.exec(line) ?? []
    if (name) folders.splice(indent.length / 2, folders.length, name)
    const folder = join(...folders)
    const named = line.slice(indent.length + (name?.length ?? 0)).match(/[\w-]+\.ts\b/g) ?? []
    return [folder, ...named.map((file) => join(folder, file))].filter((path) => !existsSync(join(ROOT, path)))
  })
  t.strictSame(wrong, [])
  t.ok(tree.split('\n').length > 30)
})

t.test('Docs: the test of places sees what is wrong', async (t) => {
  const part =
    '`listen` in `server/serve.ts:9`, `NOT_THERE` in `serve.ts`, `signals.ts:9999`, `gone.ts`, `no/`, `dist/`'
  t.strictSame(wrongIn(part, ['src']), ['NOT_THERE in serve.ts', '9999 in signals.ts', 'gone.ts', 'no/'])
})
