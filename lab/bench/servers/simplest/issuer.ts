import { hash, timingSafeEqual } from 'node:crypto'
import { write } from 'node:fs'
import { hostname } from 'node:os'
import Database from 'better-sqlite3'
import type { ApplicationKey } from '../../../../src/domain/application.ts'
import {
  isTokenSecret,
  mintToken,
  parseToken,
  type StoredToken,
  TOKEN_LIFETIME,
  tokenIdText,
} from '../../../../src/domain/token.ts'
import { application, verified } from '../answers.ts'
import { peerClient } from '../peer.ts'

// The simplest issuer that puts tokens on disk before it answers: one application in memory, no management, no limits, no other
// process, and it exits if anything fails. What helps this server and is no feature of it helps here, too: the same functions
// make and compare tokens, tokens that arrive together share a commit, and answers leave together (lab/bench/README.md).

const APPLICATION = 1 as unknown as ApplicationKey
const sha256 = (text: string) => Buffer.from(hash('sha256', text, 'binary'), 'binary')
const secretHash = sha256(peerClient.client_secret)

export function isClient({ client_id, client_secret = '' }: NodeJS.Dict<string | string[]>): boolean {
  return client_id === application.client_id && timingSafeEqual(sha256(String(client_secret)), secretHash)
}

const db = new Database(process.env.STORE)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.pragma('wal_autocheckpoint = 4000')
db.exec(
  'CREATE TABLE tokens (id BLOB PRIMARY KEY, hash BLOB NOT NULL, issued_at INTEGER NOT NULL) STRICT, WITHOUT ROWID',
)
const inserts = [32, 8, 1].map((size) => {
  return { size, insert: db.prepare(`INSERT INTO tokens VALUES ${Array(size).fill('(?, ?, ?)').join(', ')}`) }
})
const valuesOf = ({ id, secretHash, issuedAt }: StoredToken) => [id, secretHash, issuedAt]

/** Waits for the disk. */
const store = db.transaction((tokens: StoredToken[]) => {
  let next = 0
  for (const { size, insert } of inserts) {
    for (; next + size <= tokens.length; next += size) insert.run(tokens.slice(next, next + size).flatMap(valuesOf))
  }
}).immediate

/** For how many turns of the event loop a batch waits, as long as each of them brings more. */
const TURNS = 9
let waiting: { stored: StoredToken; answer: () => void }[] = []

function commitSoon(turns = TURNS, before = 0): void {
  setImmediate(() => {
    if (turns > 1 && waiting.length > before) return commitSoon(turns - 1, waiting.length)
    const batch = waiting
    waiting = []
    store(batch.map(({ stored }) => stored))
    for (const { answer } of batch) answer()
  })
}

/** Issues a token, and sends the answer when it is on disk. */
export function issue(requestId: string, address: string | undefined, send: (json: string) => void): void {
  const { accessToken, stored } = mintToken(APPLICATION, Date.now())
  if (waiting.length === 0) commitSoon()
  waiting.push({ stored, answer })

  function answer(): void {
    const { id, issuedAt } = stored
    log(
      `${ABOUT_LINE}"token_id":"${tokenIdText(id)}","request_id":"${requestId}","remote_address":"${address}","time":${issuedAt}}\n`,
    )
    send(
      `{"access_token":"${accessToken}"${ABOUT_TOKEN},"issued_at":"${issuedAt}","client_id":"${application.client_id}"}`,
    )
  }
}

const ABOUT_TOKEN = `,"token_type":"bearer","expires_in":3599,"scope":"","application_name":"${application.application_name}","developer.email":"${application['developer.email']}"`
const ABOUT_LINE = `{"level":"info","pid":${process.pid},"hostname":"${hostname()}","msg":"token issued","client_id":"${application.client_id}","secret_id":1,`

const LINES_BYTES = 64 * 1024
let lines = Buffer.allocUnsafeSlow(LINES_BYTES)
let used = 0
setInterval(writeLines, 100)

function log(line: string): void {
  if (used + line.length > LINES_BYTES) writeLines()
  used += lines.write(line, used, 'latin1')
}

function writeLines(): void {
  if (used > 0) write(1, lines, 0, used, null, () => {})
  lines = Buffer.allocUnsafeSlow(LINES_BYTES)
  used = 0
}

type Found = Pick<StoredToken, 'secretHash' | 'issuedAt'>
const select = db.prepare('SELECT hash AS secretHash, issued_at AS issuedAt FROM tokens WHERE id = ?')
const MOST_CACHED = 50_000
const cache = new Map<string, Found>()

function find(id: Buffer): Found | undefined {
  const key = id.toString('latin1')
  const cached = cache.get(key)
  if (cached) return cached
  const found = select.get(id) as Found | undefined
  if (cache.size >= MOST_CACHED) cache.clear()
  if (found) cache.set(key, found)
  return found
}

/** The headers for a gateway; undefined if the token is not valid. */
function headersFor(authorization: string | undefined): typeof verified | undefined {
  const token = authorization?.startsWith('Bearer ') ? parseToken(authorization.slice(7)) : undefined
  const stored = token && find(token.id)
  if (!stored || !isTokenSecret(token.secret, stored as StoredToken)) return undefined
  const expiresAt = stored.issuedAt + TOKEN_LIFETIME
  if (expiresAt <= Date.now()) return undefined
  return { ...verified, 'x-token-id': tokenIdText(token.id), 'x-token-expires': String(Math.floor(expiresAt / 1000)) }
}

let asked: (() => void)[] = []

/** Checks a token at the end of the turn, together with others. */
export function check(authorization: string | undefined, answer: (headers: typeof verified | undefined) => void): void {
  if (asked.length === 0) setImmediate(answerAll)
  asked.push(() => answer(headersFor(authorization)))
}

function answerAll(): void {
  const all = asked
  asked = []
  for (const answer of all) answer()
}

export const CHALLENGE =
  'Bearer realm="http://localhost:12345", error="invalid_token", error_description="The token is invalid"'
export const REFUSED_TOKEN = '{"error":"invalid_token","error_description":"The token is invalid"}'
export const REFUSED_CLIENT = '{"error":"invalid_client","error_description":"Client authentication failed"}'
