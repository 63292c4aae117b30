/** Markup that was made by `html`, and by nothing else: the class is not exported. */
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

/** What a template may hold: text, which is escaped, and markup. `false`, `null` and `undefined` are nothing. */
export type Part = Html | string | number | false | null | undefined | readonly Part[]

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A value right behind this would be an attribute without quotes, which a space in the value would end. */
const UNQUOTED = /(?:^|[\s"'])[\w:-]+=$/

/** Templates that were looked at: each is looked at once. */
const known = new WeakSet<TemplateStringsArray>()

/**
 * Markup from a template. Every value in it is text, unless it is markup or a list of such. Throws TypeError where a value
 * stands in an attribute without quotes.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  if (!known.has(strings)) assertQuoted(strings)
  return new Markup(strings.reduce((all, next, n) => all + markup(parts[n - 1]) + next))
}

function assertQuoted(strings: TemplateStringsArray): void {
  const wrong = strings.slice(0, -1).find((piece) => UNQUOTED.test(piece))
  if (wrong !== undefined) throw new TypeError(`An attribute has no quotes: ${wrong.trim()}`)
  known.add(strings)
}

function markup(part: Part): string {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Markup) return part.text
  if (typeof part === 'object') return part.map(markup).join('')
  return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character] as string)
}

/** A path of the console, whose values are encoded as parts of a URL (RFC 3986 §2.1): path`/applications/${clientId}`. */
export function path(strings: TemplateStringsArray, ...values: (string | number)[]): string {
  return strings.reduce((all, next, n) => all + encodeURIComponent(values[n - 1] as string | number) + next)
}
