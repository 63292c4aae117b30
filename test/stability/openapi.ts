import { parse } from 'yaml'
import type { Entries } from './lists.ts'

type Part = Record<string, unknown>

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/**
 * What an OpenAPI description promises: of each operation its parameters, its body, and its answers with their schemas, headers and
 * error codes; of each schema its fields. `!` stands for what is always there.
 */
export function callsAndSchemas(yaml: string): Entries {
  const document = parse(yaml)
  const { paths, components } = document
  const target = (part: Part): Part =>
    '$ref' in part
      ? String(part.$ref)
          .split('/')
          .slice(1)
          .reduce((node, key) => node[key], document)
      : part
  const partsOf = (parts: unknown = {}) =>
    Object.entries(parts as Record<string, Part>).map(([name, part]): [string, Part] => [name, target(part)])
  const schemasOf = ({ content }: Part) => partsOf(content).map(([, { schema }]) => typeOf(schema as Part))
  const requests = new Set<string>()

  function operation(item: Part, { parameters = [], requestBody, responses }: Part): string[] {
    const all = [...((item.parameters ?? []) as Part[]), ...(parameters as Part[])].map(target)
    const body = requestBody ? target(requestBody as Part) : undefined
    const bodies = body
      ? partsOf(body.content).map(([type, { schema }]) => [type, typeOf(schema as Part)] as const)
      : []
    for (const [, schema] of bodies) requests.add(schema.replace(' or null', ''))
    const needed = all.filter(({ in: place, required }) => required && place !== 'path').map(({ name }) => name)
    return [
      `needs ${[...needed, ...(body?.required ? ['a body'] : [])].join(', ') || 'nothing'}`,
      ...all.flatMap(({ in: place, name, schema }) => field(`${place} ${name}`, schema as Part)),
      ...bodies.map((one) => one.join(' ')),
      ...partsOf(responses).flatMap(([status, response]) => [
        [status, ...schemasOf(response)].join(' '),
        ...partsOf(response.headers)
          .filter(([, header]) => !header['x-everywhere'])
          .map(([name, { required }]) => `${status} ${name}${required ? '!' : ''}`),
        ...errorsIn(response).map((code) => `${status} ${code}`),
      ]),
    ]
  }

  /** The codes in the examples of an answer. */
  function errorsIn({ content }: Part): string[] {
    const examples = partsOf(content).flatMap(([, { examples }]) => partsOf(examples))
    return [...new Set(examples.flatMap(([, { value }]) => (value as Part)?.error ?? []))] as string[]
  }

  const operations = partsOf(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method): [string, string[]] => {
      return [`${method.toUpperCase()} ${path}`, operation(item, item[method] as Part)]
    }),
  )
  const headers = partsOf(components.headers).filter(([, header]) => header['x-everywhere'])
  const schemas = partsOf(components.schemas).map(([name, { properties = {}, required = [] }]): [string, string[]] => [
    name,
    [
      ...(requests.has(name) ? [`needs ${(required as string[]).join(', ') || 'nothing'}`] : []),
      ...Object.entries(properties as Record<string, Part>).flatMap(([one, schema]) =>
        field(`${one}${!requests.has(name) && (required as string[]).includes(one) ? '!' : ''}`, schema),
      ),
    ],
  ])
  return Object.fromEntries([...operations, ['every answer', headers.map(([name]) => name)], ...schemas])
}

/** A field or a parameter: its type, its default, and its values if they are known. */
function field(name: string, schema: Part): string[] {
  const values = (schema.enum ?? (schema.items as Part)?.enum ?? []) as unknown[]
  const byDefault = 'default' in schema ? ` = ${schema.default}` : ''
  return [
    `${name}: ${typeOf(schema)}${byDefault}`.trim(),
    ...values.map((value) => `${name}: ${JSON.stringify(value)}`),
  ]
}

function typeOf(schema: Part): string {
  if ('$ref' in schema) return String(schema.$ref).split('/').at(-1) as string
  if ('const' in schema) return JSON.stringify(schema.const)
  const alternatives = (schema.anyOf ?? schema.oneOf) as Part[] | undefined
  if (alternatives) return alternatives.map(typeOf).join(' or ')
  if ('else' in schema) return `${typeOf(schema.else as Part)} or ${typeOf(schema.if as Part)}`
  const { type, items, format } = schema
  if (type === 'array') return `${typeOf((items ?? {}) as Part)}[]`
  return [[type].flat().join(' or '), format].filter(Boolean).join(' ')
}
