import { readFileSync } from 'node:fs'

const { version, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** This program's version, which `--version` prints and databases record. */
export const VERSION: string = version

export const NODE_VERSION: string = process.versions.node

/** The oldest version of each line of Node.js that can run it. */
export const OLDEST_NODES: string[] = engines.node.replaceAll('^', '').split(' || ')
