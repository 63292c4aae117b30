export { type Html, html, type Part } from '../../web/html.ts'

/** A URL path with percent-encoded values (RFC 3986 §2.1): path`/applications/${clientId}`. */
export function path(strings: TemplateStringsArray, ...values: (string | number)[]): string {
  return strings.reduce((all, next, n) => all + encodeURIComponent(values[n - 1] as string | number) + next)
}

/** A URL with these query parameters, without the empty ones. */
export function address(path: string, query: Readonly<Record<string, string>>): string {
  const set = Object.entries(query).filter(([, value]) => value !== '')
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`
}
