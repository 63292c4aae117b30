import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { answersOf, type Description, type Example, type Operation, operationsOf } from './description.ts'
import { Html, html, prose } from './html.ts'
import { caseList, field, operationSection, statusName } from './operation.ts'

const STYLE = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8')

/** One endpoint of the page: what is the same for several methods is said once. */
interface Entry {
  operation: Operation
  methods: string
}

/** The reference of a description: one HTML page that loads nothing. `source`: where the description is, beside it. */
export function referencePage(description: Description, source: string): string {
  const { info, tags } = description
  const entries = entriesOf(description)
  const groups = tags.map((tag) => ({
    ...tag,
    id: idOf(tag.name),
    entries: entries.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title}: reference</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Contents">
<p class="title"><a href="#top">${info.title}</a> <span>${info.version}</span></p>
<ul>
${groups.map(
  ({ name, id, entries }) => html`<li><a href="#${id}">${name}</a>
<ul>
${entries.map(({ operation: { operationId, summary }, methods }) => html`<li><a href="#${operationId}"><span>${summary}</span> <span class="method">${methods}</span></a></li>`)}
</ul></li>`,
)}
<li><a href="#everywhere">Every endpoint</a></li>
</ul>
</nav>
<main id="content">
<header>
<h1 id="top">${info.title}</h1>
<p class="summary">${info.summary}</p>
<p class="facts">Version ${info.version}. The same for programs: <a href="${source}">${source}</a>, OpenAPI ${description.openapi}.</p>
${prose(info.description)}
</header>
${groups.map(
  ({ name, description: about, id, entries }) => html`<section aria-labelledby="${id}">
<h2 id="${id}"><a href="#${id}">${name}</a></h2>
${prose(about)}
${entries.map(({ operation, methods }) => operationSection(description, operation, methods))}
</section>`,
)}
${everywhere(description)}
</main>
</body>
</html>
`.text
}

function entriesOf(description: Description): Entry[] {
  const operations = operationsOf(description)
  return operations
    .filter(({ description }) => description !== undefined)
    .map((operation) => {
      const methods = operations.filter(({ path }) => path === operation.path).map(({ method }) => method)
      const isAny = description.paths[operation.path]?.['x-any-method']
      return { operation, methods: isAny ? 'any method' : methods.join(', ') }
    })
}

/** What holds at every endpoint. */
function everywhere(description: Description): Html {
  const { parameters, headers } = description.components
  const common = <Item extends { 'x-everywhere'?: boolean; description: string }>(items: Record<string, Item>) =>
    Object.entries(items).filter(([, item]) => item['x-everywhere'])
  return html`<section aria-labelledby="everywhere">
<h2 id="everywhere"><a href="#everywhere">Every endpoint</a></h2>
<h3>Headers of a request</h3>
<dl class="fields">${common(parameters).map(([name, { description }]) => field(name, { type: 'optional', about: description }))}</dl>
<h3>Headers of an answer</h3>
<dl class="fields">${common(headers).map(([name, { description, required, schema }]) =>
    field(name, { type: required ? String(schema.const ?? '') : 'optional', about: description }),
  )}</dl>
<h3>Refusals</h3>
${refusalsOf(description).map(({ status, cases }) => html`<div class="answer"><h4>${statusName(status)}</h4>${caseList(cases)}</div>`)}
</section>`
}

/** The refusals that are the same everywhere, by status. */
function refusalsOf(description: Description) {
  const cases = new Map<string, { status: number; example: Example }>()
  for (const { status, name, response } of operationsOf(description).flatMap(answersOf)) {
    for (const { examples } of Object.values(response.content ?? {})) {
      const example = examples[String(name)]
      if (example?.['x-everywhere']) cases.set(example.summary, { status, example })
    }
  }
  const statuses = [...new Set([...cases.values()].map(({ status }) => status))].sort((a, b) => a - b)
  return statuses.map((status) => ({
    status: String(status),
    cases: [...cases.values()].filter((one) => one.status === status).map(({ example }) => example),
  }))
}

function idOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}
