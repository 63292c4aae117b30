import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'

/**
 * The Node.js in the package for Debian and in the executable, and the SHA-256 of its program for each processor. The package
 * `node` of npm fetches it when it is installed, so package-lock.json does not pin it.
 */
export const NODE = {
  version: '24.21.0',
  sums: {
    x64: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
    arm64: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
  } as NodeJS.Dict<string>,
}

/** The path of the Node.js that runs this. Throws an Error if it is not the recorded one. */
export function recordedNode(): string {
  const sum = createHash('sha256').update(readFileSync(process.execPath)).digest('hex')
  if (sum === NODE.sums[process.arch]) return process.execPath
  throw new Error(
    `${process.execPath} is Node.js ${process.version} with the SHA-256 ${sum}, and not the one in lab/release/node.ts.`,
  )
}

export const nodeLicences = () =>
  join(dirname(process.execPath), '../node_modules', `node-linux-${process.arch}`, 'LICENSE')

/** That of the driver. */
export const SQLITE_VERSION = new Database(':memory:').prepare('SELECT sqlite_version()').pluck().get() as string

/** What CycloneDX calls components: the Node.js of each package for Debian and each executable. */
export const nodeComponents = Object.entries(NODE.sums).map(([processor, content]) => ({
  'bom-ref': `node-linux-${processor}@${NODE.version}`,
  type: 'platform',
  name: `node-linux-${processor}`,
  version: NODE.version,
  description:
    `Node.js in the package for Debian and the executable, ${processor}. ` +
    'The hash is of bin/node, before the symbols are stripped from it',
  hashes: [{ alg: 'SHA-256', content }],
  licenses: [{ license: { id: 'MIT' } }],
  cpe: `cpe:2.3:a:nodejs:node.js:${NODE.version}:*:*:*:*:*:*:*`,
  purl: `pkg:npm/node-linux-${processor}@${NODE.version}`,
}))

export const sqliteComponent = {
  'bom-ref': `sqlite@${SQLITE_VERSION}`,
  type: 'library',
  name: 'sqlite',
  version: SQLITE_VERSION,
  description: 'SQLite, in the binaries of better-sqlite3',
  licenses: [{ license: { id: 'blessing' } }],
  cpe: `cpe:2.3:a:sqlite:sqlite:${SQLITE_VERSION}:*:*:*:*:*:*:*`,
  purl: `pkg:generic/sqlite@${SQLITE_VERSION}`,
}
