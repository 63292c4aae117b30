import { readFileSync } from 'node:fs'

const { version, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** This program's version, as `--version` tells it and databases record it. */
export const VERSION: string = version

/** The version of the Node.js that runs it. */
export const NODE_VERSION: string = process.versions.node

/** The oldest one that it runs on. */
export const OLDEST_NODE: string = engines.node.replace('>=', '')
