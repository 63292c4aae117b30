import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildDebian } from './debian.ts'
import { NODE, nodeComponents, nodeLicences, recordedNode, sqliteComponent } from './node.ts'
import { ROOT, run, sumsOf } from './tools.ts'

export interface Release {
  version: string
  /** The folder of the files. */
  folder: string
  files: string[]
}

/**
 * Builds every file of a release from a clean clone of a commit, in this folder, which must be empty. The same commit gives the same
 * bytes. The bundler, the driver of SQLite and the texts of licences come from node_modules, which package-lock.json describes.
 */
export function build(folder: string, commit: string): Release {
  const clone = join(folder, 'clone')
  const out = join(folder, 'files')
  mkdirSync(out, { recursive: true })
  run('git', ['clone', '--quiet', '--no-checkout', ROOT, clone])
  run('git', ['checkout', '--quiet', '--detach', commit], { cwd: clone })
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))

  const env = {
    ...process.env,
    SOURCE_DATE_EPOCH: run('git', ['log', '-1', '--format=%ct', commit]).trim(),
    TZ: 'UTC',
    LC_ALL: 'C',
  }
  const { name, version } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  const notices = run(process.execPath, ['lab/release/notices/main.ts'], { cwd: clone })
  writeFileSync(join(clone, 'THIRD-PARTY.md'), notices)
  const licences = readFileSync(nodeLicences(), 'utf8').replace(/^(?=.)/gm, '    ')
  writeFileSync(join(out, 'THIRD-PARTY.md'), `${notices}\n## Node.js ${NODE.version}\n\n${licences}`)
  writeFileSync(join(out, `${name}-${version}.cdx.json`), billOfMaterials(clone, join(folder, 'bill'), env))
  writeFileSync(join(clone, 'package.json'), withoutDependencies(clone))
  run('npm', ['pack', '--silent', '--pack-destination', out], { cwd: clone, env })
  const tarball = join(out, `${name}-${version}.tgz`)
  if (!existsSync(tarball)) throw new Error(`npm made no ${tarball}.`)
  buildDebian({ clone, tarball, version, out, root: join(folder, 'debian'), env })
  const platform = `linux-${process.arch}`
  const args = [recordedNode(), platform, join(out, `token-server-${version}-${platform}`)]
  run(process.execPath, ['lab/release/executable/main.ts', ...args], { cwd: clone })
  return { version, folder: out, files: readdirSync(out).sort() }
}

/** package.json without dependencies: the bundle has them. */
function withoutDependencies(clone: string): string {
  const { dependencies, ...manifest } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  return `${JSON.stringify(manifest, null, 2)}\n`
}

/**
 * The packages that the program runs with, SQLite and Node.js, as CycloneDX. npm adds a random number, which is removed, and
 * the time, which becomes that of the commit. With --omit=dev it would also leave out what packages for development need.
 */
function billOfMaterials(clone: string, folder: string, env: NodeJS.ProcessEnv): string {
  mkdirSync(folder)
  const [manifest, lock] = ['package.json', 'package-lock.json'].map((file) =>
    JSON.parse(readFileSync(join(clone, file), 'utf8')),
  )
  const shipped = Object.entries<{ dev?: boolean }>(lock.packages).filter(([, { dev }]) => !dev)
  lock.packages = Object.fromEntries(shipped)
  for (const root of [manifest, lock.packages['']]) delete root.devDependencies
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only']
  const bill = JSON.parse(run('npm', args, { cwd: folder, env }))
  delete bill.serialNumber
  // npm takes the name of the folder.
  bill.metadata.component.name = 'oauth-token-server'
  bill.metadata.timestamp = new Date(Number(env.SOURCE_DATE_EPOCH) * 1000).toISOString()
  const components = [sqliteComponent, ...nodeComponents]
  bill.components.push(...components)
  const refs = components.map((component) => component['bom-ref'])
  bill.dependencies.push(...refs.map((ref) => ({ ref, dependsOn: [] })))
  const own = bill.metadata.component['bom-ref']
  bill.dependencies.find(({ ref }: { ref: string }) => ref === own).dependsOn.push(...refs)
  return `${JSON.stringify(bill, null, 2)}\n`
}

/** Copies the files of a release to a folder, which is emptied first, packs the executable, and writes their sums. */
export function publish({ folder, files }: Release, to: string): void {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to)
  for (const file of files) cpSync(join(folder, file), join(to, file))
  // A level that is not the first takes twice the time for a twentieth less.
  run('xz', ['-1', '--keep', ...files.filter((file) => file.includes('-linux-'))], { cwd: to })
  writeFileSync(join(to, 'SHA256SUMS'), sumsOf(to, readdirSync(to).sort()))
}
