import { ACCESS_TOKEN_PATH } from '../../../src/http/access-token.ts'
import { INTROSPECT_PATH } from '../../../src/http/introspect.ts'
import { VERIFY_PATH } from '../../../src/http/verify.ts'
import type { Credentials } from './checkout.ts'

// Complete HTTP/1.1 requests as text, for the load program.

/** The gateway check for the suite that every database has. */
export const VERIFY_STORE_PATH = `${VERIFY_PATH}/store`

/** A request for a token, to this server or a peer. */
export function tokenRequest({ client_id, client_secret }: Credentials, path = ACCESS_TOKEN_PATH): string {
  return form(path, { grant_type: 'client_credentials', client_id, client_secret })
}

/** A gateway's request. */
export function verifyRequest(accessToken: string): string {
  return `GET ${VERIFY_STORE_PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\n\r\n`
}

/** A suite's request, to this server or a peer. */
export function introspectRequest(
  { client_id, client_secret }: Credentials,
  accessToken: string,
  path = INTROSPECT_PATH,
): string {
  const credentials = Buffer.from(`${client_id}:${client_secret}`).toString('base64')
  return form(path, { token: accessToken }, `Authorization: Basic ${credentials}\r\n`)
}

/** A GET request to the admin listener. */
export function adminRequest(path: string, adminKey: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${adminKey}\r\n\r\n`
}

function form(path: string, fields: Record<string, string>, headers = ''): string {
  const body = new URLSearchParams(fields).toString()
  const type = 'Content-Type: application/x-www-form-urlencoded'
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
