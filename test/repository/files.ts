import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** The text of a file of this repository. */
export const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
