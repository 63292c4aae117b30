import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from './job.ts'
import { run } from './tools.ts'

/** The arguments with which Node.js loads every module of an installed program: nothing that they import may be missing. */
export function loadEveryModule(folder: string): string[] {
  const script = `
    process.chdir(${JSON.stringify(folder)})
    const files = require('fs').globSync('lib/**/*.js', { exclude: ['lib/main.js', 'lib/admin/console/assets/**'] })
    if (files.length < 200) throw new Error('Only ' + files.length + ' modules')
    for (const file of files) await import(require('path').resolve(file))`
  return ['--input-type=commonjs', '-e', `(async () => {${script}})()`]
}

interface BillOfMaterials {
  components: { purl: string }[]
}

/** Expects a bill of materials to name each package of an installation, and its Node.js. */
export function expectInBill({ components }: BillOfMaterials, library: string): void {
  const version = run(join(library, 'node'), ['--version']).trim().slice(1)
  const packages = globSync('**/node_modules/{*,@*/*}/package.json', { cwd: library }).map((file) => {
    const { name, version } = JSON.parse(readFileSync(join(library, file), 'utf8'))
    return `pkg:npm/${name}@${version}`
  })
  const named = new Set(components.map(({ purl }) => decodeURIComponent(purl)))
  const missing = [`pkg:npm/node-linux-${process.arch}@${version}`, ...packages].filter((purl) => !named.has(purl))
  expect(packages.length > 50 && missing.length === 0, `Of ${packages.length} packages it lacks ${missing.join()}.`)
}
