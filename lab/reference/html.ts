/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | undefined | Part[]

/** HTML from a template. What is put in is text, unless it is HTML. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((all, next, n) => all + asHtml(parts[n - 1]) + next))
}

function asHtml(part: Part): string {
  if (part === undefined) return ''
  if (Array.isArray(part)) return part.map(asHtml).join('\n')
  return part instanceof Html ? part.text : escaped(String(part))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

/** Pieces of HTML one behind the other. */
export function joined(pieces: Html[]): Html {
  return new Html(pieces.map(({ text }) => text).join(''))
}

/** One line of a description: `code` is all that it may have of Markdown. */
export function line(text: string): Html {
  const parts = text.trim().split(/`([^`]+)`/)
  return joined(parts.map((part, n) => (n % 2 === 1 ? html`<code>${part}</code>` : html`${part}`)))
}

/** A description: paragraphs and lists. */
export function prose(text = ''): Html[] {
  const blocks = text.trim().split(/\n{2,}/)
  return blocks.filter(Boolean).map((block) => {
    if (!block.startsWith('- ')) return html`<p>${line(block)}</p>`
    const items = block.slice(2).split(/\n- /)
    return html`<ul>${items.map((item) => html`<li>${line(item)}</li>`)}</ul>`
  })
}
