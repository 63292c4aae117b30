import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RegisteredApplication } from '../administration/applications.ts'
import type { Registry } from '../administration/apply.ts'
import { type Fields, KINDS, type Kind } from '../administration/apply-plan.ts'
import type { SeedStep } from '../administration/seed.ts'
import type { RegisteredSuite } from '../administration/suites.ts'
import { isPlainTextUrl } from '../domain/address.ts'
import { OperatorError, type OperatorErrorKind } from '../domain/operator-error.ts'
import { camelCased } from '../domain/text.ts'
import { readInput, type Terminal } from './shared/terminal.ts'

/** How often a request is sent if it is not answered, or the server is busy. */
const TRIES = 5
const LONGEST_MS = 60_000

/** The kinds of errors by their statuses. */
const KINDS_OF_ERRORS: Record<number, OperatorErrorKind> = {
  404: 'not found',
  409: 'taken id',
  412: 'another version',
  422: 'idempotency key reused',
}

/** Keeps the request for a secret until the secret is written. */
export interface Journal {
  /** What an earlier run has left, if anything. */
  read(): string | undefined
  begin(request: string): void
  end(): void
}

interface Options {
  journal?: Journal | undefined
  wait?: (time: number) => Promise<unknown>
}

/** Registers a suite or an application. */
interface Request {
  kind: Kind
  id: string
  entry: Fields
  idempotencyKey: string
}

/** Reads the admin key from a file, or from TOKEN_SERVER_KEY. Throws OperatorError if there is none. */
export async function readKey(terminal: Terminal, file: string | undefined): Promise<string> {
  const text = file === undefined ? String(terminal.env.TOKEN_SERVER_KEY) : await readInput(terminal, file)
  // The file for curl in docs/admin-api.md is a whole header.
  const [, key] = /^(?:Authorization: *Bearer +)?(otsa_[!-~]+)\s*$/i.exec(text) ?? []
  if (key) return key
  throw new OperatorError('--server needs an admin key (otsa_…): in a file for --key-file, or in TOKEN_SERVER_KEY.')
}

/** A server by its administration API. Throws OperatorError if the key would cross the network in plain text. */
export function serverRegistry(url: string, key: string, { journal, wait = sleep }: Options = {}) {
  const { protocol = '', origin, pathname = '', username } = URL.parse(url) ?? {}
  if (!/^https?:$/.test(protocol) || username || isPlainTextUrl(url)) {
    throw new OperatorError('--server must be a URL with https, or with http on this machine, and without a user.')
  }
  const base = `${origin}${pathname.replace(/\/$/, '')}/admin/v1`

  /** Sends a request until it is answered. Twice the same request makes one change. */
  async function send(path: string, request: RequestInit): Promise<{ response: Response; text: string }> {
    for (let tries = 1; ; tries++) {
      const answer = await fetch(base + path, { ...request, signal: AbortSignal.timeout(LONGEST_MS) })
        .then(async (response) => ({ response, text: await response.text() }))
        .catch((error: Error) => error)
      const isLost = answer instanceof Error
      if (!isLost && ![429, 503].includes(answer.response.status)) return answer
      if (tries < TRIES) {
        const seconds = isLost ? 0 : Number(answer.response.headers.get('retry-after'))
        await wait(Math.min(seconds * 1000 || 250 * 2 ** tries, LONGEST_MS))
      } else if (isLost) {
        const reasons = [answer.cause, answer].flatMap((error) => [Object(error).message, Object(error).code])
        throw new OperatorError(`${origin} does not answer: ${reasons.find(Boolean)}.`)
      } else return answer
    }
  }

  /** Resolves to the JSON of the answer, and its version. Throws OperatorError if it is refused. */
  async function call(method: string, path: string, json?: Fields | null, more: Record<string, string> = {}) {
    const headers = { authorization: `Bearer ${key}`, ...(json && { 'content-type': 'application/json' }), ...more }
    const body = json ? JSON.stringify(json) : null
    const { response, text } = await send(path, { method, headers, body, redirect: 'manual' })
    const { ok, status } = response
    const answered = jsonIn(text)
    if (!ok || (!answered && status !== 204)) {
      const { detail = `It answers ${status}, and not as this API does.` } = answered ?? {}
      throw new OperatorError(`${origin}: ${detail}`, { kind: KINDS_OF_ERRORS[status] ?? 'refused' })
    }
    // A proxy that compresses answers makes the tag weak.
    return { json: answered ?? {}, version: String(response.headers.get('etag')).replace(/^W\//, '') }
  }

  /** Makes a request, or makes it again and gets the same answer. It is forgotten when the secret is written. */
  async function register({ kind, id, entry, idempotencyKey }: Request): Promise<SeedStep> {
    const { json } = await call('POST', `/${kind}s`, entry, { 'idempotency-key': idempotencyKey }).catch((error) => {
      if (isAnswered(error)) journal?.end()
      throw error
    })
    const made = { ...camelCased<RegisteredSuite & RegisteredApplication>(json), suiteId: id }
    const [suites, applications] = kind === 'suite' ? [[made], []] : [[], [made]]
    const written = async () => {
      journal?.end()
      return []
    }
    return { suites, applications, register: written }
  }

  const registry: Registry = {
    async list(kind) {
      const rows: Fields[] = []
      let after: unknown
      do {
        const { json } = await call('GET', `/${kind}s?limit=200${after ? `&after=${after}` : ''}`)
        const page = json[`${kind}s`]
        if (!Array.isArray(page)) throw new OperatorError(`${origin} does not answer as this API does.`)
        rows.push(...page)
        after = json.next
      } while (after)
      return rows
    },

    async *register(added) {
      for (const { kind, id, after } of added) {
        const entry = { [KINDS[kind].id]: id, ...after }
        const request: Request = { kind, id, entry, idempotencyKey: randomUUID() }
        journal?.begin(JSON.stringify(request))
        yield await register(request)
      }
    },

    async find(kind, id) {
      const { json, version } = await call('GET', `/${kind}s/${encodeURIComponent(id)}`)
      return { fields: json, version }
    },

    async change(kind, id, version, values) {
      const method = !values ? 'DELETE' : kind === 'suite' ? 'PATCH' : 'PUT'
      await call(method, `/${kind}s/${encodeURIComponent(id)}`, values, { 'if-match': version })
    },
  }

  /** Makes the request again whose secret an earlier run has not written. Throws OperatorError if the secret is lost. */
  async function* resume(): AsyncGenerator<SeedStep> {
    // A request that was cut off was not sent.
    const request = jsonIn(journal?.read() ?? '') as Request | undefined
    try {
      if (!request) return journal?.end()
      await registry.find(request.kind, request.id)
      yield await register(request)
    } catch (error) {
      if (!isAnswered(error)) throw error
      if (error.kind === 'not found') return journal?.end()
      const lost = `The secret of ${request?.id} may be in no file: "secrets rotate ${request?.id}" makes another one.`
      throw new OperatorError(lost, { cause: error })
    }
  }

  return { ...registry, resume }
}

/** Whether a server has answered that it did nothing. */
function isAnswered(error: unknown): error is OperatorError {
  return error instanceof OperatorError && error.kind !== 'refused'
}

/** Undefined: it is not JSON. */
function jsonIn(text: string): Fields | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
