import type { FastifySchema } from 'fastify'
import { jsonNamed } from '../../administration/rules.ts'
import { type JsonSchema, jsonSchema, object, text } from '../../views/schema.ts'

type Described = Parameters<typeof jsonSchema>[0]

/** The answer of a route, with this status. */
export function answer(schema: Described, status = 200): { response: FastifySchema['response'] } {
  return { response: { [status]: jsonSchema(schema) } }
}

/** One page of a list. `next`: the cursor of the next page, or null. `more`: further fields. */
export function pageOf(title: string, name: string, items: Described, more: Record<string, Described> = {}): Described {
  const next = text('The cursor of the next page; null on the last page').nullable()
  return object(title, `One page of ${name.replace('_', ' ')}`, { [name]: items, next, ...more } as Parameters<
    typeof object
  >[2])
}

/** The schema of optional query parameters. Their format is checked by query.ts. Only `label` may be repeated. */
export function query(...names: string[]): FastifySchema['querystring'] {
  const properties = Object.fromEntries(names.map((name) => [name, name === 'label' ? {} : { type: 'string' }]))
  return { type: 'object', additionalProperties: false, properties }
}

/** The schema of a body with the fields of a schema in administration/rules.ts, which itself checks the format of texts. */
export function body(title: string, description: string, rule: { shape: Record<string, Described> }): JsonSchema {
  const { properties, ...schema } = jsonSchema(object(title, description, jsonNamed(rule.shape)))
  const fields = Object.entries(properties as Record<string, JsonSchema>)
  const withoutFormats = fields.map(([name, { pattern, allOf, maxLength, ...field }]) => [name, field])
  return { ...schema, properties: Object.fromEntries(withoutFormats) }
}
