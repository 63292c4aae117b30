import t from 'tap'
import { read } from '../repository/files.ts'
import { entriesIn, lost, textOf } from './lists.ts'
import { promises } from './promises.ts'

const kept = (name: string) => read(`test/stability/${name}.txt`)

/** The views of a migration that is not the latest any more. */
const SUPERSEDED = /^views after [^|]+$/

t.test('Stability: nothing that users rely on is gone or means something else', async (t) => {
  const now = await promises(t)
  for (const [name, entries] of Object.entries(now)) {
    const changed = lost(entriesIn(kept(name)), entries).filter((entry) => !SUPERSEDED.test(entry))
    t.strictSame(changed, [], name)
  }

  const rows = [...read('docs/stability.md').matchAll(/\[(\S+)\.txt\]\(\.\.\/test\/stability\/\1\.txt\)/g)]
  t.strictSame(rows.map(([, name]) => name).sort(), Object.keys(now).sort(), 'each list is in the table')
  const isReleased = !read('CHANGELOG.md').includes('\n## Unreleased\n')
  for (const [name, entries] of isReleased ? Object.entries(now) : []) {
    t.equal(textOf(entries), kept(name), `${name}: test/stability/main.ts adds what a release adds`)
  }
})

t.test('Stability: of each entry of each list it is seen that it goes or that a fact about it changes', async (t) => {
  for (const list of ['wire', 'settings', 'commands', 'log', 'metrics', 'admin-api', 'database', 'artifacts']) {
    const entries = entriesIn(kept(list))
    t.ok(Object.keys(entries).length > 8, list)
    const unseen = Object.entries(entries).flatMap(([name, facts]) => {
      const { [name]: _gone, ...others } = entries
      const changed = facts.map((_, at) => ({ ...entries, [name]: facts.with(at, 'something else') }))
      return [others, ...changed].filter((now) => lost(entries, now).length !== 1).map(() => name)
    })
    t.strictSame(unseen, [], list)
    const more = Object.entries(entries).map(([name, facts]) => [name, ['something else', ...facts]])
    t.strictSame(lost(entries, { ...Object.fromEntries(more), more: [] }), [], `${list}: additions pass`)
  }
})

t.test('Stability: a list is read as it was written', async (t) => {
  const entries = { PORT: ['default 8080', '1'], none: [] }
  t.strictSame(entriesIn(textOf(entries)), entries)
})
