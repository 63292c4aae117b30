import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** An OpenAPI description without `$ref`, as far as the reference page and the tests read it. */
export interface Description {
  openapi: string
  info: { title: string; summary: string; version: string; description: string }
  servers: { url: string; variables?: Record<string, { default: string }> }[]
  tags: { name: string; description: string }[]
  /** The default for all operations. */
  security?: Record<string, string[]>[]
  paths: Record<string, PathItem>
  components: {
    examples: Record<string, Example>
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    headers: Record<string, Header>
    securitySchemes: Record<string, SecurityScheme>
  }
}

interface PathItem {
  parameters?: Parameter[]
  /** Methods that OpenAPI has no word for are accepted, too. */
  'x-any-method'?: boolean
  [method: string]: unknown
}

/** What is the same at every endpoint; the page says it once. */
interface Everywhere {
  'x-everywhere'?: boolean
}

export interface Parameter extends Everywhere {
  name: string
  in: string
  description: string
  schema: Schema
  required?: boolean
  example?: string | number
}

/** A JSON Schema, 2020-12. */
export interface Schema {
  type?: string
  description?: string
  const?: unknown
  enum?: unknown[]
  format?: string
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  [keyword: string]: unknown
}

export interface Example extends Everywhere {
  summary: string
  value: unknown
}

export interface Content {
  schema: Schema
  examples: Record<string, Example>
}

export interface DocumentedResponse {
  description?: string
  headers?: Record<string, Header>
  content?: Record<string, Content>
}

export interface Header extends Everywhere {
  description: string
  required?: boolean
  schema: Schema
  example?: string
  examples?: Record<string, Example>
}

interface SecurityScheme {
  scheme: string
  description: string
  /** What stands for the credentials in a command. */
  'x-example': string
}

export interface Operation {
  operationId: string
  /** In capitals. */
  method: string
  path: string
  tags: string[]
  summary: string
  description?: string
  parameters: Parameter[]
  security: Record<string, string[]>[]
  requestBody?: Pick<DocumentedResponse, 'description' | 'content'>
  responses: Record<string, DocumentedResponse>
}

/** One case of an answer: `name` is that of its example, or undefined where the response has no named one. */
export interface DocumentedAnswer {
  operation: Operation
  status: number
  name: string | undefined
  response: DocumentedResponse
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** Reads a description. Throws where a `$ref` leads nowhere. */
export function readDescription(file: string): Description {
  return descriptionIn(readFileSync(file, 'utf8'))
}

/** The description in this YAML. Throws where a `$ref` leads nowhere. */
export function descriptionIn(yaml: string): Description {
  const document = parse(yaml)
  return resolved(document, document, new Map()) as Description
}

/** The same with what every `$ref` names in its place. What is named twice is one object: each schema is compiled once. */
function resolved(node: unknown, document: unknown, known: Map<unknown, unknown>): unknown {
  if (typeof node !== 'object' || node === null) return node
  if (known.has(node)) return known.get(node)
  const { $ref } = node as { $ref?: string }
  const copy = Array.isArray(node)
    ? node.map((item) => resolved(item, document, known))
    : $ref !== undefined
      ? resolved(at(document, $ref), document, known)
      : Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolved(value, document, known)]))
  known.set(node, copy)
  return copy
}

/** What a JSON pointer (RFC 6901) names. */
function at(document: unknown, pointer: string): unknown {
  const keys = pointer.split('/').slice(1)
  const found = keys.reduce<unknown>(
    (node, key) => (node as Record<string, unknown> | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  )
  if (found === undefined) throw new Error(`${pointer} leads nowhere`)
  return found
}

/** Every operation of a description. */
export function operationsOf({ paths, security = [] }: Description): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const operation = item[method] as Omit<Operation, 'method' | 'path' | 'security'> & Pick<Description, 'security'>
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
      return { security, ...operation, parameters, method: method.toUpperCase(), path }
    }),
  )
}

/** Every case of every answer of an operation. */
export function answersOf(operation: Operation): DocumentedAnswer[] {
  return Object.entries(operation.responses).flatMap(([status, response]) => {
    const contents = Object.values(response.content ?? {})
    const examples = [...contents, ...Object.values(response.headers ?? {})].map(({ examples }) => examples ?? {})
    const names: (string | undefined)[] = [...new Set(examples.flatMap(Object.keys))]
    return (names.length > 0 ? names : [undefined]).map((name) => ({
      operation,
      status: Number(status),
      name,
      response,
    }))
  })
}
