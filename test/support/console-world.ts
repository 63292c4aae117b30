import type { InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { createAdminWorld } from './admin.ts'

/** What a browser says of a form on a page of the console. */
const FROM_A_PAGE = { 'sec-fetch-site': 'same-origin' }

const NAMES: Record<string, string> = { admin: 'anna', viewer: 'viktor' }

/** A request as a browser sends it: `form` is that of a page. */
export interface Sent {
  form?: Record<string, string | string[]>
  method?: InjectOptions['method']
  headers?: Record<string, string>
}

/** An admin listener as `createAdminWorld` has it, and browsers that open its console. */
export async function createConsoleWorld(t: Test, options: Parameters<typeof createAdminWorld>[1] = {}) {
  const world = await createAdminWorld(t, options)

  /** The code of a new one-time link, for a role or the name of an operator. */
  const codeFor = async (as: string) => (await world.administration.operators.makeLoginCode(NAMES[as] ?? as)).code

  /** Sends what a browser sends that keeps no cookies. */
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

  /** Signs in by a link. Resolves to what sends requests with that session. */
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
