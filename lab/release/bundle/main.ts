import { cpSync } from 'node:fs'
import { bundle } from './bundle.ts'

// Bundles the program of the working directory into lib/.

await bundle('lab/release/bundle/program.ts', 'lib')
cpSync('src/admin/console/assets', 'lib/admin/console/assets', { recursive: true })
