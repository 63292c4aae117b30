import { readdirSync, readFileSync } from 'node:fs'

// The files that come with the program. The executable has them inside of it, and lab/release/executable/program-files.ts in place
// of this.

/** The URL of a file or folder, relative to this folder: `src` in a clone, `lib` in a package. */
export const programFile = (path: string): URL => new URL(path, import.meta.url)

export const namesIn = (folder: URL): string[] => readdirSync(folder)

export const readText = (file: URL): string => readFileSync(file, 'utf8')

export const readBytes = (file: URL): Buffer => readFileSync(file)
