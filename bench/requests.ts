import type { Application } from './data.ts'

// Whole HTTP/1.1 requests as text.

export const TOKEN_PATH = '/v1/oauth/accesstoken'
export const VERIFY_PATH = '/v1/oauth/verify/store'
export const INTROSPECT_PATH = '/v1/oauth/introspect'

/** A request for a token, of this server or a peer. */
export function tokenRequest({ client_id, client_secret }: Application, path = TOKEN_PATH): string {
  return form(path, { grant_type: 'client_credentials', client_id, client_secret })
}

/** What a gateway asks. */
export function verifyRequest(token: string): string {
  return `GET ${VERIFY_PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`
}

/** What a suite asks. */
export function introspectRequest({ client_id, client_secret }: Application, token: string): string {
  const credentials = Buffer.from(`${client_id}:${client_secret}`).toString('base64')
  return form(INTROSPECT_PATH, { token }, `Authorization: Basic ${credentials}\r\n`)
}

function form(path: string, fields: Record<string, string>, headers = ''): string {
  const body = new URLSearchParams(fields).toString()
  const type = 'Content-Type: application/x-www-form-urlencoded'
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
