import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import type { RegisteredApplication } from '../administration/applications.ts'
import type { Registry } from '../administration/apply.ts'
import { type Fields, KINDS, type Kind } from '../administration/apply-plan.ts'
import type { SeedStep } from '../administration/seed.ts'
import type { RegisteredSuite } from '../administration/suites.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { camelCased, withPeriod } from '../domain/text.ts'
import { isPlainTextUrl } from '../web/address.ts'
import { failureTexts, retryAfterIn } from '../web/answers.ts'
import { readInput, type Terminal } from './shared/terminal.ts'
import { trust } from './shared/trust.ts'

/** How many times a request is sent if it is not answered, or the server is busy. */
const TRIES = 5
const LONGEST_MS = 60_000

/** Keeps the request for a secret until the secret is written. */
export interface Journal {
  place: string
  /** What an earlier run left behind, if anything. */
  read(): string | undefined
  begin(request: string): void
  end(): void
}

interface Options {
  journal?: Journal | undefined
  wait?: (time: number) => Promise<unknown>
}

/** Registers the suite or application with this id. `base` is the URL of the server's API. */
interface Request {
  base: string
  kind: Kind
  id: string
  entry: Fields
  idempotencyKey: string
}

export type ServerOptions = Partial<Record<'server' | 'keyFile' | 'caFile', string>>

/** `verb`: what the command does with the server. */
export function addServerOptions(command: Command, verb: string): Command {
  return command
    .option('--server <url>', `${verb} this server through its administration API, not the database`)
    .option('--key-file <file>', 'a file with the admin key for --server (default: the variable TOKEN_SERVER_KEY)')
    .option('--ca-file <file>', "a file with the certificate of your own authority, if --server's is by that")
}

/** The server that the options name; undefined if they name none. Throws OperatorError if the key is missing. */
export async function serverOf(terminal: Terminal, { server, keyFile, caFile }: ServerOptions, options: Options = {}) {
  if (server !== undefined && caFile !== undefined) trust(caFile, await readInput(terminal, caFile))
  if (server !== undefined) return serverRegistry(server, await readKey(terminal, keyFile), options)
  if (keyFile !== undefined) throw new OperatorError('--key-file is only for --server.')
  if (caFile !== undefined) throw new OperatorError('--ca-file is only for --server.')
  return undefined
}

/** Reads the admin key from a file, or from TOKEN_SERVER_KEY. Throws OperatorError if there is none. */
async function readKey(terminal: Terminal, file: string | undefined): Promise<string> {
  const text = file === undefined ? String(terminal.env.TOKEN_SERVER_KEY) : await readInput(terminal, file)
  // The file for curl in docs/admin-api.md contains a whole header.
  const [, key] = /^(?:Authorization: *Bearer +)?(otsa_[!-~]+)\s*$/i.exec(text) ?? []
  if (key) return key
  throw new OperatorError('--server needs an admin key (otsa_…): in a file for --key-file, or in TOKEN_SERVER_KEY.')
}

/** Calls of a server's administration API. Throws OperatorError if the key would cross the network in plain text. */
function createCalls(url: string, key: string, wait: NonNullable<Options['wait']>) {
  const { protocol = '', origin, pathname = '', username } = URL.parse(url) ?? {}
  if (!/^https?:$/.test(protocol) || username || isPlainTextUrl(url)) {
    throw new OperatorError('--server must be an https URL without a user (http for this machine only).')
  }
  const base = `${origin}${pathname.replace(/\/$/, '')}/admin/v1`

  /** Sends a request until it is answered. Repeating a request makes only one change. */
  async function send(path: string, request: RequestInit) {
    for (let tries = 1; ; tries++) {
      const answer = await fetch(base + path, { ...request, signal: AbortSignal.timeout(LONGEST_MS) })
        .then(async (response) => ({ response, text: await response.text() }))
        .catch((error: Error) => error)
      const isLost = answer instanceof Error
      if (!isLost && ![429, 503].includes(answer.response.status)) return { ...answer, tries }
      const [why = '', code = ''] = isLost ? failureTexts(answer) : []
      if (/CERT|LEAF/.test(code)) {
        const advice = 'If it is by an authority of your own, name that with --ca-file.'
        throw new OperatorError(`The certificate of ${origin} is not accepted: ${withPeriod(why)} ${advice}`)
      }
      if (tries < TRIES) {
        const asked = isLost ? undefined : retryAfterIn(answer.response.headers)
        await wait(Math.min(asked || 250 * 2 ** tries, LONGEST_MS))
      } else if (isLost) throw new OperatorError(`${origin} does not answer: ${why}.`)
      else return { ...answer, tries }
    }
  }

  /** Resolves to the JSON of the answer, and its version. Throws OperatorError if it is refused. */
  async function call(method: string, path: string, json?: Fields | null, more: Record<string, string> = {}) {
    const headers = { authorization: `Bearer ${key}`, ...(json && { 'content-type': 'application/json' }), ...more }
    const body = json ? JSON.stringify(json) : null
    const { response, text, tries } = await send(path, { method, headers, body, redirect: 'manual' })
    const { ok, status } = response
    const answered = jsonIn(text)
    if (!ok || (!answered && status !== 204)) {
      const isTaken = status === 409 || status === 422
      const kind = status === 404 ? 'not found' : status === 412 ? 'another version' : isTaken ? 'taken id' : 'refused'
      const { detail = `It answers ${status}, but not as this API does.` } = answered ?? {}
      // If a request was sent twice, the first may have been carried out.
      const cause = { isNo: tries === 1 && status >= 400 && status < 500 }
      throw new OperatorError(`${origin}: ${detail}`, { kind, cause })
    }
    // A proxy that compresses answers makes the tag weak.
    return { json: answered ?? {}, version: String(response.headers.get('etag')).replace(/^W\//, '') }
  }

  return { origin, base, call }
}

/** A server, reached through its administration API. Throws OperatorError if the key would cross the network in plain text. */
export function serverRegistry(url: string, key: string, { journal, wait = sleep }: Options = {}): Registry {
  const { origin, base, call } = createCalls(url, key, wait)
  /** The request of an earlier run that did not write the secret: repeating it returns the same secret. */
  const unwritten = jsonIn(journal?.read() ?? '') as Request | undefined

  async function register(request: Request): Promise<SeedStep> {
    const { kind, id, entry, idempotencyKey } = request
    const { json } = await call('POST', `/${kind}s`, entry, { 'idempotency-key': idempotencyKey }).catch((error) => {
      const isTaken = error.kind === 'taken id'
      // The earlier run may have got a different answer, with another key.
      if (isTaken || (error.cause?.isNo && request !== unwritten)) journal?.end()
      if (!isTaken || request !== unwritten) throw error
      const lost = `The secret of ${id} may be in no file: "secrets rotate ${id}" makes another one.`
      throw new OperatorError(lost, { cause: error })
    })
    const made = { ...camelCased<RegisteredSuite & RegisteredApplication>(json), suiteId: id }
    const written = async () => {
      journal?.end()
      return []
    }
    return { suites: kind === 'suite' ? [made] : [], applications: kind === 'suite' ? [] : [made], register: written }
  }

  return {
    async list(kind) {
      const rows: Fields[] = []
      let after: unknown
      do {
        const { json } = await call('GET', `/${kind}s?limit=200${after ? `&after=${after}` : ''}`)
        const page = json[`${kind}s`]
        if (!Array.isArray(page)) throw new OperatorError(`${origin} does not answer like this API.`)
        rows.push(...page)
        after = json.next
      } while (after)
      return rows.filter((row) => unwritten?.base !== base || row[KINDS[kind].id] !== unwritten.id)
    },

    async *register(added) {
      const requests: Request[] = added.map(({ kind, id, after }) => {
        return { base, kind, id, entry: { [KINDS[kind].id]: id, ...after }, idempotencyKey: randomUUID() }
      })
      if (unwritten && requests.length > 0) {
        const { idempotencyKey } = unwritten
        const at = requests.findIndex((request) => isDeepStrictEqual({ ...request, idempotencyKey }, unwritten))
        if (at < 0) throw unlike(unwritten, journal?.place)
        // Repeated first, because the journal keeps only one request.
        requests.splice(at, 1)
        requests.unshift(unwritten)
      }
      for (const request of requests) {
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
}

function unlike({ base, id }: Request, place: string | undefined): OperatorError {
  const left = `An earlier run may have registered ${id} at ${base}, and has not written its secret; this run asks for something else.`
  const rotate = `if ${id} is registered there, "secrets rotate ${id}" makes another secret`
  return new OperatorError(`${left} Apply the same entry to that server again. Or remove ${place}: ${rotate}.`)
}

/** Undefined if it is not JSON. */
function jsonIn(text: string): Fields | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
