import { setTimeout as sleep } from 'node:timers/promises'
import { verifyRequest } from '../../bench/world/requests.ts'
import { type Client, openClient } from '../../trial/world/client.ts'
import type { Entry } from './ledger.ts'

const CLIENTS = 8
const PAUSE_MS = 100

/** How often a node may say that its store is unavailable before the audit fails. */
const TRIES = 300

/** Acknowledged tokens and revocations that are lost, counted once for every node that has lost them. */
export interface Losses {
  /** Valid tokens that are refused. */
  tokens: number
  /** Revoked tokens that are valid. */
  revocations: number
}

/** Checks every token of a ledger on every node. */
export async function audit(ports: number[], ledger: Entry[]): Promise<Losses> {
  const losses = { tokens: 0, revocations: 0 }
  await Promise.all(ports.map((port) => auditNode(port, ledger, losses)))
  return losses
}

async function auditNode(port: number, ledger: Entry[], losses: Losses): Promise<void> {
  const queue = ledger.values()
  const one = async () => {
    const client = openClient(port)
    for (const entry of queue) {
      const isValid = await ask(client, entry.token)
      if (entry.revokedAt !== undefined && isValid) losses.revocations++
      if (entry.revokeSentAt === undefined && !isValid) losses.tokens++
    }
    client.close()
  }
  await Promise.all(Array.from({ length: CLIENTS }, one))
}

/** Whether a token is valid. Even now, the store of a node may be unavailable for a moment. */
async function ask(client: Client, token: string): Promise<boolean> {
  let last: number | string = 0
  for (let tries = 0; tries < TRIES; tries++) {
    last = await client.status(verifyRequest(token)).catch((error: Error) => error.message)
    if (last === 200 || last === 401) return last === 200
    await sleep(PAUSE_MS)
  }
  throw new Error(`A check is answered by ${last} for ${(TRIES * PAUSE_MS) / 1000} s`)
}
