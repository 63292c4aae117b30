import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { createAdminWorld } from './admin.ts'

// Extracts parts of a page of the console from its HTML.

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** The visible text of a page, with whitespace collapsed. */
export function textOf(body: string): string {
  return unescaped(body.replaceAll('<wbr>', '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
}

/** A page without its icons, which repeat what its texts say. */
export function withoutIcons(body: string): string {
  return body.replace(/<svg class="icon".*?<\/svg>/g, '')
}

/** The values of inputs with this name. */
export function valuesOf(body: string, name: string): string[] {
  const inputs = [...body.matchAll(/<input [^>]*>/g)].map(([input]) => input)
  return inputs
    .filter((input) => input.includes(` name="${name}"`))
    .map((input) => unescaped(/ value="([^"]*)"/.exec(input)?.[1] ?? ''))
}

/** The actions of POST forms, except for those of the operator's menu, which is on every page. */
export function actionsOf(body: string): string[] {
  const forms = [...body.matchAll(/<form [^>]*method="post"[^>]*action="([^"]*)"/g)]
  return forms
    .map(([, action]) => unescaped(action as string))
    .filter((action) => !['/logout', '/preferences'].includes(action))
}

/** The text of the copyable element with this id. */
export function copyOf(body: string, id: string): string {
  return unescaped(new RegExp(`<code id="${id}"[^>]*>([^<]*)</code>`).exec(body)?.[1] ?? '')
}

/** Fragment links without a target on the page. */
export function deadLinksOf(body: string): string[] {
  const targets = [...body.matchAll(/<a [^>]*href="#([^"]*)"/g)].map(([, id]) => id as string)
  return targets.filter((id) => !body.includes(` id="${id}"`))
}

/** Decodes character references as a browser does. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ENTITIES[name] as string)
}

/** The cookie that an answer sets, as a browser sends it. */
export const cookieOf = ({ headers }: { headers: Record<string, unknown> }) =>
  String(headers['set-cookie']).split(';')[0] ?? ''

/** The header that browsers send with a form of the console itself. */
const FROM_A_PAGE = { 'sec-fetch-site': 'same-origin' }

const NAMES: Record<string, string> = { admin: 'anna', viewer: 'viktor' }

/** A browser's request. `form`: fields of a form. */
export interface Sent {
  form?: Record<string, string | string[]>
  method?: InjectOptions['method']
  headers?: Record<string, string>
}

/** A function that sends requests, with others for the parts of the answers. */
function reading(send: (...sent: [url: string, sent?: Sent]) => Promise<LightMyRequestResponse>) {
  type Sending = Parameters<typeof send>
  return Object.assign(send, {
    body: async (...sent: Sending) => (await send(...sent)).body,
    text: async (...sent: Sending) => textOf((await send(...sent)).body),
    status: async (...sent: Sending) => (await send(...sent)).statusCode,
    location: async (...sent: Sending) => (await send(...sent)).headers.location,
  })
}

/** `createAdminWorld` with functions to request pages of the console. */
export async function createConsoleWorld(t: Test, options: Parameters<typeof createAdminWorld>[1] = {}) {
  const world = await createAdminWorld(t, options)

  /** A new login code for a role or an operator's name. */
  const codeFor = async (as: string) => (await world.administration.operators.makeLoginCode(NAMES[as] ?? as)).code

  /** Sends a request without cookies. */
  const visit = reading((url, { form, method = form ? 'POST' : 'GET', headers } = {}) => {
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
  })

  /** Signs in. Resolves to a function like `visit` that sends the session cookie. */
  async function signIn(as = 'admin') {
    const cookie = cookieOf(await visit('/login', { form: { code: await codeFor(as) } }))
    const send = (url: string, sent: Sent = {}) => visit(url, { ...sent, headers: { cookie, ...sent.headers } })
    return Object.assign(reading(send), { cookie })
  }

  return { ...world, codeFor, visit, signIn }
}
