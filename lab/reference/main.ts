import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { documents } from './documents.ts'

/** Writes the JSON Schema of a file for `apply`, the OpenAPI documents, the reference page of the public one, and the pages of all commands and settings into docs/. */
const DOCS = join(import.meta.dirname, '../../docs')
for (const [name, text] of Object.entries(await documents())) writeFileSync(join(DOCS, name), text)
