import { setTimeout as sleep } from 'node:timers/promises'
import type { Credentials } from './spawn.ts'
import { until } from './until.ts'

/** A token that a client received, and what became of it. */
interface Entry {
  token: string
  owner: Credentials
  /** What the test was doing when it was issued, and when its revocation was answered. */
  issuedIn: string
  revokedIn?: string
  state: 'live' | 'revoking' | 'revoked'
}

const CLIENTS = 4
const REVOKE = 0.3
const PAUSE_MS = 20
/** How many tokens are issued in a phase, at least. */
const MANY = 20
/** How many of them later phases are left to revoke: each wants one, and on a busy machine phases are long. */
const SPARE = 10

/**
 * Clients that ask for tokens, check them at the suite `store` and revoke some of them, and compare every answer with what
 * they were told before. A check is wrong if its token was revoked before it began, or never. `port`: of the server to ask next.
 */
export function startTokenLoad(owners: readonly Credentials[], port: () => number) {
  const ledger: Entry[] = []
  /** Answers that contradict others. */
  const wrong: string[] = []
  /** How many requests got no answer, by phase. */
  const unanswered: Record<string, number> = {}
  let phase = 'before'
  let isOver = false

  const issued = (inPhase: string) => ledger.filter(({ issuedIn }) => issuedIn === inPhase)

  /** Resolves to the body, where the status is one of these. */
  async function ask(path: string, { form, token }: { form?: object; token?: string }, ...expected: number[]) {
    const asked = phase
    const sent = form ? { method: 'POST', body: new URLSearchParams({ ...form }) } : {}
    const headers = token ? { authorization: `Bearer ${token}` } : {}
    try {
      const response = await fetch(`http://127.0.0.1:${port()}${path}`, { ...sent, headers })
      const [status, answer] = [response.status, await response.text()]
      if (expected.includes(status)) return { status, answer }
      // A database that is slow for a moment on a busy machine is not what this is about.
      if (status !== 503) wrong.push(`${asked}: ${path}: ${status} ${answer}`)
    } catch {
      unanswered[asked] = (unanswered[asked] ?? 0) + 1
      await sleep(PAUSE_MS)
    }
    return undefined
  }

  async function issue(owner: Credentials): Promise<void> {
    const form = { grant_type: 'client_credentials', ...owner }
    const said = await ask('/v1/oauth/accesstoken', { form }, 200)
    if (said) ledger.push({ token: JSON.parse(said.answer).access_token, owner, issuedIn: phase, state: 'live' })
  }

  async function revoke(entry: Entry): Promise<void> {
    entry.state = 'revoking'
    const { token, owner } = entry
    if (await ask('/v1/oauth/revoke', { form: { ...owner, token } }, 200)) {
      Object.assign(entry, { state: 'revoked', revokedIn: phase })
    }
  }

  async function check(entry: Entry): Promise<void> {
    const wasRevoked = entry.state === 'revoked'
    const status = (await ask('/v1/oauth/verify/store', { token: entry.token }, 200, 401))?.status
    const isWrong = status === 200 ? wasRevoked : status === 401 && entry.state === 'live'
    if (isWrong) wrong.push(`${phase}: ${status}, issued ${entry.issuedIn}, revoked ${entry.revokedIn ?? 'never'}`)
  }

  function isToSpare({ issuedIn, state }: Entry): boolean {
    const others = issued(issuedIn)
    const live = others.filter((other) => other.state === 'live').length
    return state === 'live' && (live > SPARE || !others.some(({ revokedIn }) => revokedIn === phase))
  }

  async function client(nth: number): Promise<void> {
    while (!isOver) {
      await issue(owners[nth % owners.length] as Credentials)
      // A token of any phase.
      const phases = [...new Set(ledger.map(({ issuedIn }) => issuedIn))]
      const entry = pick(issued(pick(phases) ?? ''))
      if (entry && Math.random() < REVOKE && isToSpare(entry)) await revoke(entry)
      // Those that were revoked just now, too: by this client, and by others.
      for (const one of [entry, ledger.at(-1)]) if (one) await check(one)
      await sleep(PAUSE_MS)
    }
  }

  const eachClient = (run: (nth: number) => Promise<void>) =>
    Promise.all(Array.from({ length: CLIENTS }, (_, nth) => run(nth)))
  const running = eachClient(client)

  return {
    wrong,
    unanswered,
    /** What is noted from now on. */
    enter(next: string): void {
      phase = next
    },
    /**
     * Waits until much was issued from now on, and tokens of now and of these phases before were revoked; or until something
     * is wrong.
     */
    async spend(next: string, before: string[] = []): Promise<void> {
      phase = next
      await until(() => {
        const revoked = new Set(ledger.filter(({ revokedIn }) => revokedIn === next).map(({ issuedIn }) => issuedIn))
        return wrong.length > 0 || (issued(next).length >= MANY && [next, ...before].every((one) => revoked.has(one)))
      })
    },
    /** Ends the load, and checks every token once more. */
    async stop(): Promise<void> {
      isOver = true
      await running
      const rest = ledger.values()
      await eachClient(async () => {
        for (const entry of rest) await check(entry)
      })
    },
  }
}

function pick<Item>(items: Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)]
}
