import type { Description, Operation } from './description.ts'
import { type Html, html, joined } from './html.ts'

/** The `curl` that sends an operation's request, with this example of its body. */
export function curlOf(
  { servers, components }: Description,
  { method, path, parameters, security }: Operation,
  body: Record<string, string> = {},
): string {
  const [server] = servers
  const base = Object.entries(server?.variables ?? {}).reduce(
    (url, [name, variable]) => url.replace(`{${name}}`, variable.default),
    server?.url ?? '',
  )
  const target = parameters.reduce((path, { name, example }) => path.replace(`{${name}}`, String(example)), path)
  const [name] = Object.keys(security[0] ?? {})
  const scheme = name !== undefined && body.client_secret === undefined ? components.securitySchemes[name] : undefined
  const options = Object.entries(body).map(([field, value]) => `-d ${field}=${value}`)
  if (scheme?.scheme === 'bearer') options.unshift(`-H "Authorization: Bearer ${scheme['x-example']}"`)
  if (scheme?.scheme === 'basic') options.unshift(`-u "${scheme['x-example']}"`)
  const show = scheme?.scheme === 'bearer' ? 'curl -i' : 'curl'
  const first = method === 'GET' || options.some((option) => option.startsWith('-d')) ? show : `${show} -X ${method}`
  return [`${first} ${base}${target}`, ...options].join(' \\\n  ')
}

/** JSON with its names and values marked. */
export function markedJson(value: unknown): Html {
  const parts = JSON.stringify(value, null, 2).split(/("(?:[^"\\]|\\.)*"|\b(?:true|false|null|\d+)\b)/)
  return joined(
    parts.map((part, n) =>
      n % 2 === 0 ? html`${part}` : html`<span class="${kindOf(part, parts[n + 1])}">${part}</span>`,
    ),
  )
}

function kindOf(part: string, behind = ''): string {
  if (!part.startsWith('"')) return 'value'
  return behind.startsWith(':') ? 'name' : 'text-value'
}
