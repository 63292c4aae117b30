import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from './until.ts'

interface Credentials {
  client_id: string
  client_secret: string
}

/** A token that a client received, and what became of it. */
interface Entry {
  token: string
  owner: Credentials
  /** What the test was doing when it was issued, and when its revocation was answered. */
  issuedIn: string
  revokedIn?: string
  state: 'live' | 'revoking' | 'revoked'
}

/** An answer that contradicts another one. */
type Wrong = {
  what: 'a valid token is refused' | 'a revoked token is accepted' | 'unexpected'
  phase: string
  detail: string
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
 * they were told before. A check is wrong if its token was revoked before it began, or never. `port` says whom to ask.
 */
export function startTokenLoad(owners: readonly Credentials[], { port }: { port: () => number }) {
  const ledger: Entry[] = []
  const byPhase = new Map<string, Entry[]>()
  const wrong: Wrong[] = []
  /** How many requests got no answer, by phase. */
  const unanswered: Record<string, number> = {}
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2 * CLIENTS })
  let phase = 'before'
  let isOver = false

  async function ask(path: string, { form, token }: { form?: object; token?: string }) {
    const asked = phase
    const body = form && new URLSearchParams({ ...form }).toString()
    const headers = {
      ...(body && { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }),
      ...(token && { authorization: `Bearer ${token}` }),
    }
    try {
      const request = http.request({ port: port(), path, method: body ? 'POST' : 'GET', headers, agent })
      request.end(body)
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      const answer = { status: response.statusCode as number, body: await text(response) }
      // A database that is slow for a moment on a busy machine is not what this is about.
      return answer.status === 503 ? undefined : answer
    } catch {
      unanswered[asked] = (unanswered[asked] ?? 0) + 1
      await sleep(PAUSE_MS)
      return undefined
    }
  }

  async function issue(owner: Credentials): Promise<void> {
    const form = { grant_type: 'client_credentials', ...owner }
    const answer = await ask('/v1/oauth/accesstoken', { form })
    if (answer === undefined) return
    if (answer.status !== 200) return report('unexpected', `token request: ${answer.status} ${answer.body}`)
    const entry: Entry = { token: JSON.parse(answer.body).access_token, owner, issuedIn: phase, state: 'live' }
    ledger.push(entry)
    if (!byPhase.get(phase)?.push(entry)) byPhase.set(phase, [entry])
  }

  async function revoke(entry: Entry): Promise<void> {
    if (entry.state !== 'live') return
    entry.state = 'revoking'
    const answer = await ask('/v1/oauth/revoke', { form: { ...entry.owner, token: entry.token } })
    if (answer === undefined) return
    if (answer.status !== 200) return report('unexpected', `revocation: ${answer.status} ${answer.body}`)
    entry.state = 'revoked'
    entry.revokedIn = phase
  }

  async function check(entry: Entry): Promise<void> {
    const wasRevoked = entry.state === 'revoked'
    const answer = await ask('/v1/oauth/verify/store', { token: entry.token })
    if (answer === undefined) return
    const detail = `issued ${entry.issuedIn}, revoked ${entry.revokedIn ?? 'never'}`
    if (answer.status === 200 && wasRevoked) report('a revoked token is accepted', detail)
    else if (answer.status === 401 && entry.state === 'live') report('a valid token is refused', detail)
    else if (answer.status !== 200 && answer.status !== 401) report('unexpected', `check: ${answer.status}`)
  }

  function report(what: Wrong['what'], detail: string): void {
    wrong.push({ what, phase, detail })
  }

  /** A token of any phase. */
  const some = (): Entry | undefined => pick(pick([...byPhase.values()]) ?? [])

  function isToSpare({ issuedIn }: Entry): boolean {
    const others = byPhase.get(issuedIn) ?? []
    const live = others.filter(({ state }) => state === 'live').length
    return live > SPARE || !others.some(({ revokedIn }) => revokedIn === phase)
  }

  async function client(nth: number): Promise<void> {
    while (!isOver) {
      await issue(owners[nth % owners.length] as Credentials)
      const entry = some()
      if (entry && Math.random() < REVOKE && isToSpare(entry)) await revoke(entry)
      // Those that were revoked just now, too: by this client, and by others.
      for (const one of [entry, ledger.at(-1)]) if (one) await check(one)
      await sleep(PAUSE_MS)
    }
  }

  const running = Promise.all(Array.from({ length: CLIENTS }, (_, nth) => client(nth)))

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
        const isMuch = (byPhase.get(next)?.length ?? 0) >= MANY
        return wrong.length > 0 || (isMuch && [next, ...before].every((one) => revoked.has(one)))
      })
    },
    /** Ends the load, and checks every token once more. */
    async stop(): Promise<void> {
      isOver = true
      await running
      for (const entry of ledger) await check(entry)
      agent.destroy()
    },
  }
}

function pick<Item>(items: Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)]
}
