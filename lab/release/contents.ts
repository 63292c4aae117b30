import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from './job.ts'
import { ROOT, run } from './tools.ts'

/** The arguments with which Node.js loads every module of an installed program: nothing that they import may be missing. */
export function loadEveryModule(folder: string): string[] {
  const script = `
    process.chdir(${JSON.stringify(folder)})
    const files = require('fs').globSync('lib/*.js', { exclude: ['lib/main.js'] })
    if (files.length < 50) throw new Error('Only ' + files.length + ' modules')
    for (const file of files) await import(require('path').resolve(file))`
  return ['--input-type=commonjs', '-e', `(async () => {${script}})()`]
}

interface BillOfMaterials {
  components: { purl: string }[]
}

/** Expects a bill of materials to name each package of an installation, and its Node.js. What is in the bundle, its maps say. */
export function expectInBill({ components }: BillOfMaterials, library: string): void {
  const version = run(join(library, 'node'), ['--version']).trim().slice(1)
  const maps = globSync('lib/*.map', { cwd: library }).map((file) => readFileSync(join(library, file), 'utf8'))
  const bundled = maps.flatMap((map) => map.match(/(node_modules\/(@[^/"]+\/)?[^/"]+\/)+/g) ?? [])
  const packages = [...new Set(bundled)].map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'))
    return `pkg:npm/${name}@${version}`
  })
  const named = new Set(components.map(({ purl }) => decodeURIComponent(purl)))
  const missing = [`pkg:npm/node-linux-${process.arch}@${version}`, ...packages].filter((purl) => !named.has(purl))
  expect(packages.length > 30 && missing.length === 0, `Of ${packages.length} packages it lacks ${missing.join()}.`)
}
