import { setTimeout as sleep } from 'node:timers/promises'
import type { Credentials } from '../../bench/world/checkout.ts'
import { verifyRequest } from '../../bench/world/requests.ts'
import type { Random } from '../../trial/random.ts'
import { type Client, openClient, revokeRequest, tokenRequest } from '../../trial/world/client.ts'
import { type Entry, type Wrong, wrongIn } from './ledger.ts'

/** Clients per node, and the longest pause of each after a request, milliseconds. */
const CLIENTS = 6
const PAUSE_MS = 30

/** A check picks one of this many newest tokens. */
const RECENT = 2000

/** The share of the tokens that is revoked at some time. The others have to stay valid. */
const REVOKED = 0.3

/** One answer, at times of the monotonic clock, milliseconds. Status 0: there was none. */
export interface Answer {
  node: number
  kind: 'token' | 'check' | 'revocation'
  sentAt: number
  answeredAt: number
  status: number
}

export type Load = ReturnType<typeof startLoad>

/** Asks all nodes for tokens, checks and revocations until it is stopped, and records all that was acknowledged. */
export function startLoad(
  ports: number[],
  { applications, ledger, random }: { applications: Credentials[]; ledger: Entry[]; random: Random },
) {
  const answers: Answer[] = []
  const toRevoke: Entry[] = []
  const wrong: Wrong = { acceptedLate: 0, refusedWrongly: 0 }
  let isOver = false

  /** A client of one node, which checks the tokens that it has revoked on any node. */
  async function loop(home: number): Promise<void> {
    const clients = ports.map((port) => openClient(port))
    while (!isOver) {
      const choice = random.between(0, 10)
      if (choice < 4) await issue(clients, home)
      else if (choice < 8) await check(clients, home)
      else await revoke(clients, home)
      await sleep(random.between(0, PAUSE_MS))
    }
    for (const client of clients) client.close()
  }

  async function issue(clients: Client[], node: number): Promise<void> {
    const application = random.pick(applications)
    const { status, body } = await ask(clients, node, 'token', tokenRequest(application))
    if (status !== 200) return
    const entry = { token: JSON.parse(body).access_token, application, issuedAt: performance.now() }
    ledger.push(entry)
    if (random.chance(REVOKED)) toRevoke.push(entry)
  }

  async function check(clients: Client[], node: number, entry = recent(ledger, random)): Promise<void> {
    if (!entry) return
    const sentAt = performance.now()
    const { status } = await ask(clients, node, 'check', verifyRequest(entry.token))
    const found = wrongIn(entry, status, sentAt)
    if (found) wrong[found]++
  }

  async function revoke(clients: Client[], node: number): Promise<void> {
    const [entry] = toRevoke.splice(random.between(0, toRevoke.length), 1)
    if (!entry) return
    entry.revokeSentAt ??= performance.now()
    const { status } = await ask(clients, node, 'revocation', revokeRequest(entry.application, entry.token))
    // A client that does not know whether the token was revoked tries again.
    if (status !== 200) return void toRevoke.push(entry)
    entry.revokedAt = performance.now()
    await check(clients, random.between(0, ports.length), entry)
  }

  async function ask(clients: Client[], node: number, kind: Answer['kind'], request: string) {
    const sentAt = performance.now()
    const none = { status: 0, body: '' }
    const { status, body } = await (clients[node] as Client).send(request).catch(() => none)
    answers.push({ node, kind, sentAt, answeredAt: performance.now(), status })
    return { status, body }
  }

  const loops = ports.flatMap((_, node) => Array.from({ length: CLIENTS }, () => loop(node)))
  return {
    answers: answers as readonly Answer[],
    /** Checks that were answered wrongly. */
    wrong: wrong as Readonly<Wrong>,
    /** Ends the load. Resolves when no request is under way. */
    async stop(): Promise<void> {
      isOver = true
      await Promise.all(loops)
    },
  }
}

function recent(ledger: Entry[], random: Random): Entry | undefined {
  return ledger[random.between(Math.max(0, ledger.length - RECENT), ledger.length)]
}
