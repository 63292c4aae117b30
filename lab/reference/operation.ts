import { STATUS_CODES } from 'node:http'
import type {
  Content,
  Description,
  DocumentedResponse,
  Example,
  Header,
  Operation,
  Parameter,
  Schema,
} from './description.ts'
import { type Html, html, line, prose } from './html.ts'
import { curlOf, markedJson } from './samples.ts'

/** One endpoint: what it is for, what it takes, what it answers, and an example. */
export function operationSection(description: Description, operation: Operation, methods: string): Html {
  const { operationId, path, summary, parameters, requestBody, responses } = operation
  const own = parameters.filter((parameter) => !parameter['x-everywhere'])
  const [body] = Object.values(requestBody?.content ?? {})
  return html`<section class="operation" aria-labelledby="${operationId}">
<div class="intro">
<h3 id="${operationId}"><a href="#${operationId}">${summary}</a></h3>
<p class="route"><span class="method">${methods}</span> <code>${path}</code></p>
${prose(operation.description)}
</div>
<div class="samples">
${samples(description, operation, body)}
</div>
<div class="details">
${securityOf(description, operation)}
${own.length > 0 ? html`<h4>In the address</h4>${parameterList(own)}` : undefined}
${body ? html`<h4>Fields of the request</h4>${prose(requestBody?.description)}${schemaFields(body.schema)}` : undefined}
${Object.entries(responses).map(([status, response]) => answer(status, response))}
<p class="more">And what every endpoint answers: <a href="#everywhere">Every endpoint</a>.</p>
</div>
</section>`
}

function securityOf({ components }: Description, { security }: Operation): Html | undefined {
  const schemes = security.flatMap((one) => Object.keys(one)).map((name) => components.securitySchemes[name])
  if (schemes.length === 0) return undefined
  const isOptional = security.some((one) => Object.keys(one).length === 0)
  return html`<h4>Authorization</h4><dl class="fields">${schemes.map((scheme) =>
    field(scheme?.scheme === 'basic' ? 'Basic' : 'Bearer', {
      type: isOptional ? 'or in the body' : 'required',
      about: String(scheme?.description),
    }),
  )}</dl>`
}

/** An answer with the cases that are not the same everywhere; nothing where it has no other. */
function answer(status: string, { description, headers = {}, content = {} }: DocumentedResponse): Html | undefined {
  const [body] = Object.values(content)
  const cases = Object.values(body?.examples ?? {})
  const own = cases.filter((example) => !example['x-everywhere'])
  if (cases.length > 0 && own.length === 0) return undefined
  const isRefusal = Number(status) >= 400
  return html`<div class="answer">
<h4>${statusName(status)}</h4>
${prose(description)}
${headerList(headers)}
${isRefusal ? caseList(own) : body ? schemaFields(body.schema) : undefined}
</div>`
}

/** A status with its name. */
export function statusName(status: string): Html {
  return html`<span class="status s${status.slice(0, 1)}">${status}</span> ${STATUS_CODES[status]}`
}

/** The cases of a refusal: what was wrong, and the body that says so. */
export function caseList(cases: Example[]): Html {
  return html`<dl class="cases">${cases.map(({ summary, value }) => {
    const { error, error_description } = value as Record<string, string>
    return html`<div><dt>${line(summary)}</dt><dd><code>${error}</code> <span>${error_description}</span></dd></div>`
  })}</dl>`
}

function parameterList(parameters: Parameter[]): Html {
  return html`<dl class="fields">${parameters.map(({ name, schema, description }) =>
    field(name, { type: String(schema.type), about: description }),
  )}</dl>`
}

/** The headers that only some answers have. */
function headerList(headers: Record<string, Header>): Html | undefined {
  const own = Object.entries(headers).filter(([, header]) => !header['x-everywhere'])
  if (own.length === 0) return undefined
  return html`<dl class="fields">${own.map(([name, { description, schema }]) => {
    const value = schema.const === undefined ? 'header' : `header, ${schema.const}`
    return field(name, { type: value, about: description })
  })}</dl>`
}

function schemaFields(schema: Schema): Html[] {
  return [fieldList(schema.properties ?? {}, schema.required ?? [])]
}

function fieldList(properties: Record<string, Schema>, required: string[]): Html {
  return html`<dl class="fields">${Object.entries(properties).map(([name, schema]) => {
    const type = [typeOf(schema), ...(required.includes(name) ? [] : ['optional'])].join(', ')
    return field(name, { type, about: String(schema.description) })
  })}</dl>`
}

export function field(name: string, { type, about }: { type: string; about: string }): Html {
  return html`<div><dt><code>${name}</code> <span class="type">${type}</span></dt><dd>${line(about)}</dd></div>`
}

function typeOf({ type, const: constant, items, format }: Schema): string {
  if (constant === '') return 'string'
  if (constant !== undefined) return `always ${JSON.stringify(constant)}`
  if (items) return `list of ${items.type}s`
  return format === undefined ? String(type) : `${type} (${format})`
}

/** The requests of the examples as commands, and the answers with which all is well. */
function samples(description: Description, operation: Operation, body: Content | undefined): Html[] {
  const requests = Object.values(body?.examples ?? { only: { summary: 'Request', value: undefined } })
  const commands = requests.map(({ summary, value }) =>
    sample(
      requests.length > 1 ? summary : 'Request',
      html`${curlOf(description, operation, value as Record<string, string>)}`,
    ),
  )
  const [[status, { headers = {}, content = {} }] = ['', {} as DocumentedResponse]] = Object.entries(
    operation.responses,
  )
  const [answer] = Object.values(content)
  const title = statusName(status)
  const answers = answer
    ? Object.values(answer.examples).map(({ value }) => sample(title, markedJson(value)))
    : [sample(title, headerText(headers))]
  return [...commands, ...answers]
}

/** The headers of an answer that has no body. */
function headerText(headers: Record<string, Header>): Html {
  const own = Object.entries(headers).filter(([, header]) => !header['x-everywhere'] && header.example !== undefined)
  if (own.length === 0) return html`(the body is empty)`
  return html`${own.map(([name, { example }]) => html`<span class="name">${name}</span>: ${example}`)}`
}

function sample(title: Html | string, text: Html): Html {
  return html`<figure><figcaption>${title}</figcaption><pre><code>${text}</code></pre></figure>`
}
