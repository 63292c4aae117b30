import type { Credentials } from '../../bench/world/checkout.ts'
import { verifyRequest } from '../../bench/world/requests.ts'
import type { Random } from '../random.ts'
import { type Client, openClient, type Ports } from './client.ts'

/** How long the last answers may take when load ends. A killed worker leaves some requests without one. */
const LAST_ANSWERS_MS = 2000

/** The connections of an audit, how often each asks for a token until it gets an answer, and the pause between, milliseconds. */
const AUDITORS = 16
const TRIES = 300
const RETRY_MS = 100

/** A token, and what was acknowledged to clients about it. Times are of the monotonic clock, nanoseconds. */
export interface Entry {
  token: string
  application: Credentials
  /** When the token had arrived at the client. */
  issuedAt: bigint
  /** When its revocation was first requested, and when the client had received the acknowledgement. */
  revokeSentAt?: bigint
  revokedAt?: bigint
}

/** What the load does: which share of tokens is revoked, and which share of revocations is sent twice at once. */
export interface Habits {
  connections: number
  revoke: number
  twice: number
  /** The longest pause after a token, milliseconds. */
  pause?: number
}

/** Asks for tokens and revokes some, on several connections, until it is stopped, and records all that was acknowledged. */
export function startLoad(
  ports: Ports,
  {
    applications,
    random,
    ledger,
    habits,
    note = () => {},
  }: {
    applications: Credentials[]
    random: Random
    ledger: Entry[]
    habits: Habits
    /** Told of each request that was refused or not answered. */
    note?: (what: string) => void
  },
) {
  let isOver = false
  const clients: Client[] = []
  const open = () => {
    const client = openClient(ports)
    clients.push(client)
    return client
  }

  async function loop(): Promise<void> {
    const [client, second] = [open(), open()]
    while (!isOver) {
      try {
        await issue(client, second)
      } catch (error) {
        note((error as Error).message)
        await pause(5)
      }
      if (habits.pause) await pause(random.between(0, habits.pause))
    }
  }

  async function issue(client: Client, second: Client): Promise<void> {
    const application = random.pick(applications)
    const token = await client.token(application)
    if (token === undefined) {
      note('no token')
      return pause(2)
    }
    const entry: Entry = { token, application, issuedAt: process.hrtime.bigint() }
    ledger.push(entry)
    if (!random.chance(habits.revoke)) return
    entry.revokeSentAt = process.hrtime.bigint()
    const both = random.chance(habits.twice) ? [client, second] : [client]
    // Also waits for the answer to one when the other fails: until then its connection takes no request.
    const results = await Promise.allSettled(both.map((one) => revoke(one, entry)))
    for (const { reason } of results.filter((result) => result.status === 'rejected')) note(reason.message)
  }

  function closeAll(): void {
    for (const client of clients) client.close()
  }

  const loops = Array.from({ length: habits.connections }, loop)
  return {
    /** Ends the load. Resolves when no request is under way. */
    async stop(): Promise<void> {
      isOver = true
      const timeout = setTimeout(closeAll, LAST_ANSWERS_MS)
      await Promise.all(loops)
      clearTimeout(timeout)
      closeAll()
    },
  }
}

async function revoke(client: Client, entry: Entry): Promise<void> {
  if (!(await client.revoke(entry.application, entry.token))) throw new Error('a revocation was refused')
  entry.revokedAt ??= process.hrtime.bigint()
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** What a server has lost, although it had acknowledged it. */
export interface Losses {
  lost: number
  resurrected: number
}

/** What an audit needs to know about a token. The times are of any clock. */
interface Known {
  token: string
  revokeSentAt?: unknown
  revokedAt?: unknown
}

/** Checks every token of a ledger on the server, on several connections. */
export async function audit(ports: Ports, ledger: readonly Known[]): Promise<Losses> {
  const losses = { lost: 0, resurrected: 0 }
  const queue = ledger.values()
  await Promise.all(
    Array.from({ length: AUDITORS }, async () => {
      const client = openClient(ports)
      for (const entry of queue) {
        const isValid = await ask(client, entry.token)
        if (entry.revokedAt !== undefined && isValid) losses.resurrected++
        if (entry.revokeSentAt === undefined && !isValid) losses.lost++
      }
      client.close()
    }),
  )
  return losses
}

/** Whether a token is valid. A connection may break, and a store be unavailable for a moment: only 200 and 401 say it. */
async function ask(client: Client, token: string): Promise<boolean> {
  let last: number | string = 0
  for (let tries = 0; tries < TRIES; tries++) {
    last = await client.status(verifyRequest(token)).catch((error: Error) => error.message)
    if (last === 200 || last === 401) return last === 200
    await pause(RETRY_MS)
  }
  throw new Error(`A check is answered by ${last} for ${(TRIES * RETRY_MS) / 1000} s`)
}
