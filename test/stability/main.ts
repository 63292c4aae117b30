// Writes what is promised now to the lists: at a release, for what it adds, and before a new major version, for what it changes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { textOf } from './lists.ts'
import { promises } from './promises.ts'

for (const [name, entries] of Object.entries(await promises(t))) {
  writeFileSync(join(import.meta.dirname, `${name}.txt`), textOf(entries))
}
