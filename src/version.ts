import { programFile, readText } from './program-files.ts'

const { version, engines } = JSON.parse(readText(programFile('../package.json')))

/** This program's version, which `--version` prints and databases record. */
export const VERSION: string = version

export const NODE_VERSION: string = process.versions.node

/** The oldest version of each line of Node.js that can run it. */
export const OLDEST_NODES: string[] = engines.node.replaceAll('^', '').split(' || ')
