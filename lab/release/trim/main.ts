import { readdirSync, rmSync } from 'node:fs'

// Deletes from node_modules of the working directory what the bundle does not need: all but the driver of SQLite, of which it leaves
// the binary for this machine.

const NEEDED = new RegExp(`^(LICENSE|package\\.json|lib(/.*)?|prebuilds(/linux-${process.arch}\\.node)?)$`)

for (const name of readdirSync('node_modules')) {
  if (name !== 'better-sqlite3') rmSync(`node_modules/${name}`, { recursive: true })
}
for (const path of readdirSync('node_modules/better-sqlite3', { recursive: true, encoding: 'utf8' })) {
  if (!NEEDED.test(path)) rmSync(`node_modules/better-sqlite3/${path}`, { recursive: true, force: true })
}
