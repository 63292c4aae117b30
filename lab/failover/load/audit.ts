import { audit } from '../../trial/world/ledger.ts'
import type { Entry } from './ledger.ts'

/** Acknowledged tokens and revocations that are lost, counted once for every node that has lost them. */
export interface Losses {
  /** Valid tokens that are refused. */
  tokens: number
  /** Revoked tokens that are valid. */
  revocations: number
}

/** Checks every token of a ledger on every node. */
export async function auditNodes(ports: number[], ledger: Entry[]): Promise<Losses> {
  const ofNodes = await Promise.all(ports.map((port) => audit(port, ledger)))
  return {
    tokens: ofNodes.reduce((sum, { lost }) => sum + lost, 0),
    revocations: ofNodes.reduce((sum, { resurrected }) => sum + resurrected, 0),
  }
}
