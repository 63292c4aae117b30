/** Escaped markup. Not exported, so that only `html` can create it. */
class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

export type Html = Markup

/** A value in a template. Text is escaped, markup is not. `false`, `null` and `undefined` are left out. */
export type Part = Html | string | number | false | null | undefined | readonly Part[]

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Matches the text before an unquoted attribute value, which a space in the value would end. */
const UNQUOTED = /(?:^|[\s"'])[\w:-]+=$/

const checked = new WeakSet<TemplateStringsArray>()

/**
 * Creates markup from a template, and escapes all values that are not markup. Throws TypeError if a value is in an unquoted
 * attribute.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  if (!checked.has(strings)) assertQuoted(strings)
  return new Markup(strings.reduce((all, next, n) => all + markup(parts[n - 1]) + next))
}

function assertQuoted(strings: TemplateStringsArray): void {
  const wrong = strings.slice(0, -1).find((piece) => UNQUOTED.test(piece))
  if (wrong !== undefined) throw new TypeError(`An attribute has no quotes: ${wrong.trim()}`)
  checked.add(strings)
}

function markup(part: Part): string {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Markup) return part.text
  if (typeof part === 'object') return part.map(markup).join('')
  return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character] as string)
}

/** A URL path with percent-encoded values (RFC 3986 §2.1): path`/applications/${clientId}`. */
export function path(strings: TemplateStringsArray, ...values: (string | number)[]): string {
  return strings.reduce((all, next, n) => all + encodeURIComponent(values[n - 1] as string | number) + next)
}

/** A URL with these query parameters, without the empty ones. */
export function address(path: string, query: Readonly<Record<string, string>>): string {
  const set = Object.entries(query).filter(([, value]) => value !== '')
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`
}
