import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyRequest } from '../../bench/world/requests.ts'
import type { World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { type Store, seed } from '../world/data.ts'
import { scheme } from '../world/dial.ts'
import { addOperator, callApi, logIn } from '../world/operator.ts'

/** How long a piece of a secret is that no file may have. */
const PIECE = 14
/** The first characters of a token have its id, which is public; from here on they decode by themselves. */
const TOKEN_ID = 24
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

interface Place {
  world: World
  /** With the ADMIN_ADDRESS of the server. */
  store: Store
  port: number
  adminPort: number
}

/** Makes and uses every kind of secret, also in the wrong places. Resolves to all of them, and to a client id. */
export async function useAllSecrets({ world, store, port, adminPort }: Place) {
  const client = openClient(port)
  const made: Record<string, string> = { 'the secret of a suite': store.suite.client_secret }
  const sent = (what: string) => {
    made[what] = Array.from({ length: 40 }, () => world.random.pick([...LETTERS])).join('')
    return made[what]
  }
  const found = (what: string, pattern: RegExp, text: string) => {
    const [, secret] = pattern.exec(text) ?? []
    if (!secret) throw new Error(`Not found: ${what}`)
    made[what] = secret
    return secret
  }

  const key = await addOperator(store, 'sara', 'admin')
  made['an admin key'] = key
  const call = (line: string, content: object) =>
    callApi(adminPort, key, line, content, { 'idempotency-key': crypto.randomUUID() })
  const names = { name: 'Secretive', developer_email: 'dev@partner.example' }
  const application = await call('POST /applications', { ...names, suites: ['store'] })
  const path = `/applications/${application.client_id}`
  made['a generated secret'] = application.client_secret
  made['a rotated secret'] = (await call(`POST ${path}/secrets`, { overlap_seconds: 3600 })).client_secret
  const imported = { client_id: 'secretive', client_secret: sent('an imported secret') }
  seed(store, { applications: [{ ...imported, ...names, name: 'Imported too' }] })
  await client.token(imported)

  const [token = '', other = ''] = [await client.token(application), await client.token(application)]
  made['a token'] = token.slice(TOKEN_ID)
  made['a revoked token'] = other.slice(TOKEN_ID)
  await client.revoke(application, other)
  for (const one of [token, other]) await client.isValid(one)

  const cookie = await logIn(store, 'sara', adminPort)
  found('a session', /=(\w+)/, cookie)
  const post = async (url: string, form: Record<string, string>, headers = {}) =>
    (await fetch(`${scheme()}://127.0.0.1:${url}`, { method: 'POST', headers, body: new URLSearchParams(form) })).text()
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const link = await post(`${adminPort}${path}/hand-over-links`, { overlap: '0' }, headers)
  const code = found('a hand-over code', /hand-over#(\w+)/, link)
  const handedOver = found('a handed-over secret', /<code>(\w{40})</, await post(`${port}/hand-over`, { code }))

  const good = { client_id: application.client_id, client_secret: handedOver }
  const basic = Buffer.from(`${good.client_id}:${sent('a secret in a header')}`).toString('base64')
  const wrong = [
    tokenRequest({ ...good, client_secret: sent('a wrong secret') }),
    tokenRequest({ ...good, client_id: sent('a secret as the client id') }),
    tokenRequest(good, `Authorization: Basic ${basic}\r\n`),
    tokenRequest(good, `X-Request-Id: ${sent('a secret as the request id')}\r\n`),
    tokenRequest(good).replace('accesstoken', `accesstoken?client_secret=${sent('a secret in the query')}`),
    tokenRequest(good).replace('accesstoken', sent('a secret in the path')),
    tokenRequest(good).replace('grant_type', sent('a secret as a field')),
    verifyRequest(sent('an unknown token')),
    verifyRequest(token).replace('store', sent('a secret as a suite')),
  ]
  for (const request of wrong) await client.status(request).catch(() => {})
  await callApi(adminPort, sent('a wrong admin key'), 'GET /applications').catch(() => {})
  await call('POST /applications', { [sent('a secret as a field of the API')]: 'x' }).catch(() => {})
  client.close()
  return { made, clientId: String(application.client_id) }
}

/**
 * Searches all files of some folders for two pieces of each secret: as text, in UTF-16, in hexadecimal, and in base64 at each
 * position; those of tokens also decoded. `known`: the files that have the client id, for comparison.
 */
export function searchFiles(folders: string[], made: Record<string, string>, clientId: string) {
  const names = new Map<string, string>()
  for (const [name, secret] of Object.entries(made)) for (const form of formsOf(secret)) names.set(form, name)
  const pattern = new RegExp([...names.keys()].map(RegExp.escape).join('|'), 'g')
  const found = { files: 0, bytes: 0, known: [] as string[], secrets: [] as string[] }
  for (const file of folders.flatMap(filesIn)) {
    const text = readFileSync(file, 'latin1')
    found.files++
    found.bytes += text.length
    if (text.includes(clientId)) found.known.push(file)
    for (const [form] of text.matchAll(pattern)) found.secrets.push(`${names.get(form)} in ${file}`)
  }
  return { ...found, secrets: [...new Set(found.secrets)] }
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

/** All as text with a character for each byte. */
function formsOf(secret: string): string[] {
  const texts = [secret.slice(-PIECE), secret.slice(-2 * PIECE, -PIECE)]
  const decoded = Buffer.from(secret, 'base64url').subarray(-PIECE)
  const base64 = ['', 'x', 'xx'].map((before) =>
    Buffer.from(before + secret)
      .toString('base64')
      .slice(4, 32),
  )
  return [
    ...texts,
    ...texts.map((text) => Buffer.from(text, 'utf16le').toString('latin1')),
    ...texts.map((text) => Buffer.from(text).toString('hex')),
    ...base64,
    decoded.toString('latin1'),
    decoded.toString('hex'),
  ]
}
