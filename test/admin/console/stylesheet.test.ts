import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'

const CONSOLE = new URL('../../../src/admin/console/', import.meta.url)

t.test('Stylesheet: every class is used by a page or a script', async (t) => {
  const css = await readFile(new URL('assets/console.css', CONSOLE), 'utf8')
  const selectors = css.replace(/\/\*.*?\*\//gs, '').matchAll(/([^{}]+)\{/g)
  const classes = new Set(
    [...selectors].flatMap(([, text = '']) => [...text.matchAll(/\.([a-z][\w-]*)/g)].map((m) => m[1])),
  )
  const files = (await readdir(CONSOLE, { recursive: true })).filter((file) => /\.[jt]s$/.test(file))
  const sources = await Promise.all(files.map((file) => readFile(new URL(file, CONSOLE), 'utf8')))
  const words = new Set(sources.join('\n').match(/[a-z][\w-]*/g))
  const isNumbered = (name = '') => words.has(name.replace(/\d$/, ''))
  t.ok(classes.size > 50)
  t.strictSame(
    [...classes].filter((name) => !words.has(name as string) && !isNumbered(name)),
    [],
  )
})
