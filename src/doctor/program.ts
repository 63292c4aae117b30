import { readFile } from 'node:fs/promises'
import { sqliteVersion } from '../store/open.ts'
import { isAtLeast, OLDEST_SQLITE } from '../store/versions.ts'
import { NODE_VERSION, OLDEST_NODE, VERSION } from '../version.ts'
import { error, type Finding, ok, warning } from './finding.ts'

/** A connection takes one, and each process some more. */
const FEW_FILES = 4096

/** The versions of the program and of what it runs on. */
export async function examineProgram(): Promise<Finding[]> {
  return [ok(`This is token-server ${VERSION}.`), judgeNode(NODE_VERSION), judgeSqlite(await sqliteVersion())]
}

export function judgeNode(version: string): Finding {
  if (isAtLeast(version, OLDEST_NODE)) return ok(`Node.js is ${version}.`)
  return error(`Node.js is ${version}, which is not supported.`, `Install Node.js ${OLDEST_NODE} or later.`)
}

export function judgeSqlite(version: string): Finding {
  if (isAtLeast(version, OLDEST_SQLITE)) return ok(`SQLite is ${version}.`)
  return error(`SQLite is ${version}, and before ${OLDEST_SQLITE} it can lose commits.`, 'Run npm ci.')
}

/** How many files a process may open that is started as this one. Only Linux tells. */
export async function examineLimits(file = '/proc/self/limits'): Promise<Finding[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const limit = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1]
  if (limit === undefined) return []
  const found = `A process that is started as this one may open ${limit} files and connections.`
  if (limit === 'unlimited' || Number(limit) >= FEW_FILES) return [ok(found)]
  return [warning(found, 'Raise it (ulimit -n, LimitNOFILE): a connection takes one.')]
}
