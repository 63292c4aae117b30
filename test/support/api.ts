import type { Test } from 'tap'
import { createAdminWorld } from './admin.ts'
import { undescribed } from './openapi/undescribed.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Sent {
  /** Whose admin key to send; none: no key. */
  as?: 'admin' | 'viewer' | 'none'
  json?: unknown
  headers?: Record<string, string>
  /** A body that is sent verbatim. */
  payload?: string
}

export interface Answer {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what it is
  body: any
}

export type ApiWorld = Awaited<ReturnType<typeof createApiWorld>>

/** An admin listener. Every response is checked against docs/openapi-admin.yaml. */
export async function createApiWorld(t: Test, options: Parameters<typeof createAdminWorld>[1] = {}) {
  const world = await createAdminWorld(t, options)

  /** Sends a request to the API. `path` is relative to /admin/v1; `as` defaults to the admin. */
  async function call(method: Method, path: string, { as = 'admin', ...sent }: Sent = {}): Promise<Answer> {
    const target = `/admin/v1${path}`
    const answer = await world.ask(target, { method, ...(as !== 'none' && { as }), ...sent })
    const { statusCode: status, payload } = answer
    const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
    t.strictSame(undescribed({ method, target }, { status, headers, body: payload }), [], `${method} ${path}`)
    return { status, headers, body: payload === '' ? undefined : JSON.parse(payload) }
  }

  return { ...world, call }
}
