import type { Test } from 'tap'
import { type Asked, createAdminWorld } from './admin.ts'
import { undescribed } from './openapi/undescribed.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A request; `as` may be `none`: no key. */
export type Sent = Omit<Asked, 'as'> & { as?: 'admin' | 'viewer' | 'none' }

export type ApiWorld = Awaited<ReturnType<typeof createApiWorld>>

/** An admin listener. Every response is checked against docs/openapi-admin.yaml. */
export async function createApiWorld(t: Test, options: Parameters<typeof createAdminWorld>[1] = {}) {
  const world = await createAdminWorld(t, options)

  /** Sends a request to the API. `path` is relative to /admin/v1; `as` defaults to the admin. */
  async function call(method: Method, path: string, { as = 'admin', ...sent }: Sent = {}) {
    const target = `/admin/v1${path}`
    const answer = await world.ask(target, { method, ...(as !== 'none' && { as }), ...sent })
    const { statusCode: status, payload } = answer
    const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
    t.strictSame(undescribed({ method, target }, { status, headers, body: payload }), [], `${method} ${path}`)
    const isJson = String(headers['content-type']).includes('json')
    return { status, headers, body: isJson ? JSON.parse(payload) : payload || undefined }
  }

  return { ...world, call }
}
