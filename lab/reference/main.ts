import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDescription } from './description.ts'
import { referencePage } from './page.ts'

/** Writes docs/reference.html from docs/openapi.yaml. */
const DOCS = join(import.meta.dirname, '../../docs')
writeFileSync(join(DOCS, 'reference.html'), referencePage(readDescription(join(DOCS, 'openapi.yaml')), 'openapi.yaml'))
