import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NODE, SQLITE_VERSION } from '../node.ts'

// Prints the licences of the packages that the program needs to run, from package-lock.json and node_modules of the working
// directory.

interface Locked {
  version: string
  license?: string
  dev?: boolean
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)

const sections = shipped.map(([path, { version, license }]) => {
  const name = path.replace(/^.*node_modules\//, '')
  const files = globSync('{LICEN[CS]E,NOTICE,COPYING}*', { cwd: path }).sort()
  const texts = files.map((file) =>
    readFileSync(join(path, file), 'utf8').trim().replace(/^/gm, '    ').replace(/ +$/gm, ''),
  )
  if (!license) throw new Error(`${name} names no licence.`)
  return `## ${name} ${version}\n\n${license}\n${texts.map((text) => `\n${text}\n`).join('')}`
})

process.stdout.write(`# Third-party software

token-server runs with these ${shipped.length} packages. Where a licence has no text here, its package has none either.
better-sqlite3 contains SQLite ${SQLITE_VERSION}, which is in the public domain. The package for Debian and the executable
contain Node.js ${NODE.version}. Its licences are in the package's LICENSE.node, and at the end of this file of a release.

${sections.join('\n')}`)
