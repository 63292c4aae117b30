import type { FastifyInstance } from 'fastify'
import type { MarkedToken, Token, Tokens } from 'marked'
import { programFile, readText } from '../../program-files.ts'
import { type Html, html, type Part } from '../../web/html.ts'
import { ProblemError } from '../wire/problem.ts'
import { cellOf, section, sentence, tableOf } from './components.ts'
import { type Page, showPage } from './layout.ts'
import { withContents } from './owner.ts'

// The documents of this version, as pages. Templates make their markup, so HTML in the Markdown is left out.

const BESIDE_DOCS = ['README.md', 'CHANGELOG.md', 'SECURITY.md']

/** The path of a document, from the folder of the program. No part of it begins with a dot. */
const DOCUMENT = /^(docs\/([\w-]+\/)*)?[\w-]+\.md$/

/** /docs: what comes with the program in docs/, its README and its CHANGELOG. */
export function documentPages(console: FastifyInstance): void {
  console.get('/docs', async (_request, reply) => showPage(reply, await indexPage()))

  console.get<{ Params: { '*': string } }>('/docs/*', async ({ params: { '*': name } }, reply) => {
    const file = BESIDE_DOCS.includes(name) ? name : `docs/${name}`
    return showPage(reply, await documentPage(file, textOf(file)))
  })
}

/** The documents that the README links to under that heading, in its groups. */
async function indexPage(): Promise<Page> {
  const { lexer } = await import('marked')
  const [, text = ''] = textOf('README.md').split('\n## Documents\n')
  const [{ items }] = lexer(text.trim()) as unknown as [Tokens.List]
  const groups = items.map((item, n) => {
    const parts = (item.tokens as Tokens.Generic[]).flatMap(({ tokens }) => tokens as Tokens.Link[])
    const links = parts.filter(({ href }) => href && targetOf(href, 'README.md'))
    const entries = links.map(
      ({ href, text }) => html`<li><a href="${targetOf(href, 'README.md')}">${sentence(text)}</a></li>`,
    )
    return links.length > 0 && section(`group-${n}`, item.text.split(':')[0], html`<ul class="prose">${entries}</ul>`)
  })
  return { title: 'Documents', section: '/about', content: html`<div class="columns">${groups}</div>` }
}

/** The text of a document. Throws ProblemError (404) if there is none. */
function textOf(file: string): string {
  try {
    if (DOCUMENT.test(file)) return readText(programFile(`../${file}`))
  } catch {
    // There is no such file.
  }
  throw new ProblemError('no_such_path', 'There is no such document.')
}

interface Place {
  file: string
  anchorOf: (heading: string) => string
}

/** The page of a document, which begins with its title. `file`: its path, from which its links lead. */
export async function documentPage(file: string, markdown: string): Promise<Page> {
  const { lexer } = await import('marked')
  const [title, ...rest] = lexer(markdown) as unknown as [Tokens.Heading, ...Token[]]
  const place = { file, anchorOf: createAnchors() }
  const heading = html`<span id="${place.anchorOf(title.text)}">${partsOf(title.tokens, place)}</span>`
  const content = withContents(html`<div class="document">${partsOf(rest, place)}</div>`)
  return {
    title: plain(title.text),
    heading,
    section: '/about',
    trail: [{ href: '/docs', label: 'Documents' }],
    content,
  }
}

/** Returns a function that returns the anchor that GitHub gives to each heading of a document, one after the other. */
export function createAnchors(): (heading: string) => string {
  const taken = new Set<string>()
  return (heading) => {
    const text = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = text.replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '').replaceAll(' ', '-')
    let anchor = slug
    for (let n = 1; taken.has(anchor); n++) anchor = `${slug}-${n}`
    taken.add(anchor)
    return anchor
  }
}

type Type = MarkedToken['type']

const WRITERS: { readonly [Each in Type]?: (token: Extract<MarkedToken, { type: Each }>, place: Place) => Part } = {
  heading: ({ depth, text, tokens }, place) =>
    html`<h${depth} id="${place.anchorOf(text)}">${partsOf(tokens, place)}</h${depth}>\n`,
  paragraph: ({ tokens }, place) => html`<p>${partsOf(tokens, place)}</p>\n`,
  // Browsers do not draw Mermaid. Images are left out, because they do not come with the program.
  code: ({ lang, text }) => lang !== 'mermaid' && html`<pre><code>${text}</code></pre>\n`,
  list({ ordered, items }, place) {
    const tag = ordered ? 'ol' : 'ul'
    return html`<${tag}>${items.map(({ tokens }) => html`<li>${partsOf(tokens, place)}</li>\n`)}</${tag}>\n`
  },
  table: tableIn,
  text: ({ text, tokens }, place) => (tokens ? partsOf(tokens, place) : text),
  strong: ({ tokens }, place) => html`<strong>${partsOf(tokens, place)}</strong>`,
  em: ({ tokens }, place) => html`<em>${partsOf(tokens, place)}</em>`,
  codespan: ({ text }) => html`<code>${text}</code>`,
  escape: ({ text }) => text,
  // Line breaks of tables, and anchors. The rest is comments.
  html({ raw }) {
    const [, id] = /^<a id="([\w-]+)">/.exec(raw) ?? []
    return id === undefined ? raw === '<br>' && html`<br>` : html`<span id="${id}"></span>`
  },
  link({ href, tokens }, { file, anchorOf }) {
    const text = partsOf(tokens, { file, anchorOf })
    const target = targetOf(href, file)
    return target === undefined ? text : html`<a href="${target}" rel="noreferrer">${text}</a>`
  },
}

function partsOf(tokens: readonly Token[], place: Place): Part[] {
  return tokens.map((token) => WRITERS[token.type as Type]?.(token as never, place))
}

function tableIn({ header, rows }: Tokens.Table, place: Place): Html {
  const labels = header.map(({ text }) => plain(text))
  const headerOf = ({ tokens }: Tokens.TableCell) =>
    tokens.length === 0
      ? html`<td role="cell"></td>`
      : html`<th role="columnheader" scope="col">${partsOf(tokens, place)}</th>`
  const cells = rows.map((row) =>
    row.map(({ tokens }, n) => cellOf(partsOf(tokens, place), { label: labels[n] as string })),
  )
  return html`${tableOf(undefined, header.map(headerOf), cells)}\n`
}

/** Where a link in a document leads. Undefined if to a file that is not served: only its text is shown. */
function targetOf(href: string, file: string): string | undefined {
  if (/^(https?:|#)/.test(href)) return href
  const { pathname, hash } = new URL(href, `file:///${file}`)
  const target = pathname.slice(1).replace(/\/$/, '/README.md')
  const isServed = DOCUMENT.test(target) && (target.startsWith('docs/') || BESIDE_DOCS.includes(target))
  if (isServed) return `/docs/${target.replace(/^docs\//, '')}${hash}`
}

/** The text of Markdown in one line, without the marks of code and emphasis. */
function plain(markdown: string): string {
  return markdown.replace(/[`*]/g, '')
}
