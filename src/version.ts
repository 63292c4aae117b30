import { readFileSync } from 'node:fs'

const { version, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** This program's version, which `--version` prints and databases record. */
export const VERSION: string = version

export const NODE_VERSION: string = process.versions.node

/** The oldest version of the one line of Node.js that can run it: with 26, `isAmbiguous` in listener/pipeline.ts is not asked. */
export const OLDEST_NODE: string = engines.node.replace('^', '')
