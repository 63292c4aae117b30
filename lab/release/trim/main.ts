// Deletes from node_modules of the working directory what no program runs. It is copied into the image's build by itself, so it
// imports nothing of the repository.
import { readdirSync, rmSync } from 'node:fs'

/** What only the authors of a package use: sources and types, tests, scripts, pages; and its commands. */
const OF_AUTHORS = /(^|\/)(\.[^/]+|[^/]+\.(sh|html|[cm]?ts)|tests?|spec|benchmarks?|integration|scripts|bin(\.m?js)?)$/

/** What the driver of SQLite was built from, and its binaries for other machines. */
const OF_DRIVER = new RegExp(
  `^(node-addon-api|better-sqlite3/(deps|src|binding\\.gyp|prebuilds/(?!linux-${process.arch}\\.node$).+))$`,
)

for (const path of readdirSync('node_modules', { recursive: true, encoding: 'utf8' })) {
  if (OF_AUTHORS.test(path) || OF_DRIVER.test(path)) rmSync(`node_modules/${path}`, { recursive: true, force: true })
}
