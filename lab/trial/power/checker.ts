import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { verifyAudit as VerifyAudit } from '../../../src/administration/audit-chain.ts'
import type { check as Check } from '../../../src/issuer/check.ts'
import type { openStore as OpenStore } from '../../../src/store/open.ts'
import type { Expectation } from './expectation.ts'

// A process of its own. Opens databases with the program under trial, and reports what they have lost.

/** How many tokens of each kind, the newest, the program itself checks. Of other valid ones only the row is looked up. */
const ASKED = 400

export interface ToChecker {
  file: string
  expected: Expectation
}

export interface FromChecker {
  lost: number
  resurrected: number
  applicationsLost: number
  /** Why the database is not sound; undefined if it is. */
  corrupt: string | undefined
}

const program = process.argv[2] as string
const { openStore } = (await import(join(program, 'src/store/open.ts'))) as { openStore: typeof OpenStore }
const chain = join(program, 'src/administration/audit-chain.ts')
// An older program has none.
const { verifyAudit } = (existsSync(chain) ? await import(chain) : {}) as { verifyAudit?: typeof VerifyAudit }
const { check } = (await import(join(program, 'src/issuer/check.ts'))) as { check: typeof Check }

async function judge({ file, expected }: ToChecker): Promise<FromChecker> {
  const { valid, invalid, applications } = expected
  const nothing = { lost: valid.length, resurrected: 0, applicationsLost: applications.length }
  let store: Awaited<ReturnType<typeof openStore>>
  try {
    store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 2000 })
  } catch (error) {
    return { ...nothing, corrupt: (error as Error).message }
  }
  try {
    const asking = { store, now: Date.now }
    const isValid = async (token: string) => (await check(asking, token, { suite: 'store' })).kind === 'active'
    const asked = new Set(valid.slice(-ASKED))
    const rows = rowsOf(file)
    let lost = valid.filter((token) => !asked.has(token) && !rows.has(idOf(token))).length
    for (const token of asked) if (!(await isValid(token))) lost++
    let resurrected = 0
    for (const token of invalid.slice(-ASKED)) if (await isValid(token)) resurrected++
    let applicationsLost = 0
    for (const clientId of applications) if (!(await store.findApplication(clientId))) applicationsLost++
    const problem = (await verifyAudit?.(store, Date.now()))?.problem
    return { lost, resurrected, applicationsLost, corrupt: integrity(file) ?? problem?.text }
  } catch (error) {
    return { ...nothing, corrupt: (error as Error).message }
  } finally {
    await store.close()
  }
}

function rowsOf(file: string): Set<string> {
  const db = new Database(file, { readonly: true })
  const ids = db.prepare('SELECT hex(id) FROM tokens').pluck().all() as string[]
  db.close()
  return new Set(ids)
}

/** The first 16 bytes of a token are the id of its row. */
function idOf(token: string): string {
  return Buffer.from(token, 'base64url').toString('hex', 0, 16).toUpperCase()
}

function integrity(file: string): string | undefined {
  const db = new Database(file, { readonly: true })
  const result = String(db.pragma('integrity_check', { simple: true }))
  db.close()
  return result === 'ok' ? undefined : result
}

process.on('message', async (message: ToChecker) => process.send?.(await judge(message)))
process.on('disconnect', () => process.exit())
