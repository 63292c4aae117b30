import type { InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { createAdminWorld } from './admin.ts'

/** The header that browsers send with a form of the console itself. */
const FROM_A_PAGE = { 'sec-fetch-site': 'same-origin' }

const NAMES: Record<string, string> = { admin: 'anna', viewer: 'viktor' }

/** A browser's request. `form`: fields of a form. */
export interface Sent {
  form?: Record<string, string | string[]>
  method?: InjectOptions['method']
  headers?: Record<string, string>
}

/** `createAdminWorld` with functions to request pages of the console. */
export async function createConsoleWorld(t: Test, options: Parameters<typeof createAdminWorld>[1] = {}) {
  const world = await createAdminWorld(t, options)

  /** A new login code for a role or an operator's name. */
  const codeFor = async (as: string) => (await world.administration.operators.makeLoginCode(NAMES[as] ?? as)).code

  /** Sends a request without cookies. */
  function visit(url: string, { form, method = form ? 'POST' : 'GET', headers }: Sent = {}) {
    const body = Object.entries(form ?? {}).flatMap(([name, values]) => [values].flat().map((value) => [name, value]))
    return world.app.inject({
      method,
      url,
      headers: {
        accept: 'text/html',
        ...(form && { ...FROM_A_PAGE, 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form && { payload: new URLSearchParams(body).toString() }),
    })
  }

  /** Signs in. Resolves to a function like `visit` that sends the session cookie. */
  async function signIn(as = 'admin') {
    const { headers } = await visit('/login', { form: { code: await codeFor(as) } })
    const [cookie = ''] = String(headers['set-cookie']).split(';')
    return Object.assign(
      (url: string, sent: Sent = {}) => visit(url, { ...sent, headers: { cookie, ...sent.headers } }),
      { cookie },
    )
  }

  return { ...world, codeFor, visit, signIn }
}
