import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { Repeatable } from '../../administration/idempotency.ts'
import { jsonNamed } from '../../administration/rules.ts'
import { type PublicFields, versionOf } from '../../domain/audit-event.ts'
import { type JsonSchema, jsonSchema, object, text } from '../../views/schema.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf, callerOf } from '../wire/caller.ts'
import { ProblemError } from '../wire/problem.ts'
import { choiceOf, type Query } from './query.ts'

/** `params`: the parameters in the path of the route. `body` is what the schema of the route describes. */
interface ApiRequest<Body> extends FastifyRequest {
  params: Record<'client_id' | 'suite_id' | 'owner' | 'name' | 'id', string>
  query: Query
  body: Body
}

/** Adds a route. The answer is what `handle` resolves to, or 204 if the schema has no response. */
export type AddRoute = <Body>(
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  url: string,
  schema: FastifySchema,
  handle: (administration: Administration, request: ApiRequest<Body>, reply: FastifyReply) => Promise<unknown>,
) => void

export function createRoutes(api: FastifyInstance, context: AdminContext): AddRoute {
  return (method, url, schema, handle) => {
    const hasVersion = /:(client_id|suite_id|owner)\b(?!\/approvals|\/federated\/test)/.test(url)
    const [status = '204'] = Object.keys(schema.response ?? {})
    api.route({
      method,
      url,
      schema,
      handler: async (sent, reply) => {
        const request = sent as Parameters<typeof handle>[1]
        const { 'if-match': ifMatch } = request.headers
        const isTrial = choiceOf('dry_run', ['true', 'false'], request.query) === 'true'
        if (ifMatch !== undefined && !hasVersion && method !== 'GET')
          throw new ProblemError('malformed', 'If-Match is only for one application or suite, not for this.')
        const onlyIf = ifMatch === undefined ? undefined : versionsIn(ifMatch)
        const administration = administrationOf(context, request, { onlyIf, isTrial })
        const view = await handle(administration, request, reply)
        return reply.code(Number(status)).send(status === '204' ? undefined : view)
      },
    })
  }
}

/** The versions in If-Match, which have strong entity tags (RFC 9110 §13.1.1). */
function versionsIn(ifMatch: string): string[] {
  if (ifMatch.trim() === '*') return ['*']
  return [...ifMatch.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, version = '']) => (weak ? [] : version))
}

/** Returns a function that shows an application or a suite and names its version (RFC 9110 §8.8.3). */
export function showing<Shown>(
  find: (administration: Administration, id: string) => Promise<Shown>,
  fieldsOf: (shown: Shown) => PublicFields,
  viewOf: (shown: Shown) => object,
) {
  return async (administration: Administration, id: string, reply: FastifyReply) => {
    const shown = await find(administration, id)
    reply.header('etag', `"${versionOf(fieldsOf(shown))}"`)
    return viewOf(shown)
  }
}

/** 1 to 255 printable ASCII characters, without spaces at the ends. A UUID has 36. */
const KEY = /^[!-~]([ -~]{0,253}[!-~])?$/

/**
 * Makes a request repeatable if it has an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). The key is bound to
 * method, URL and body. Throws ProblemError if the key is malformed.
 */
export function repeatable(request: FastifyRequest, reply: FastifyReply): Repeatable {
  const { 'idempotency-key': key } = request.headers
  if (key === undefined) return {}
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new ProblemError('malformed', 'The Idempotency-Key must be 1 to 255 printable ASCII characters.')
  }
  const { method, url, body = null } = request
  const content = `${method} ${url} ${JSON.stringify(body)}`
  return {
    idempotency: { key, credential: callerOf(request).credential, request: content },
    onRepetition: () => void reply.header('idempotent-replayed', 'true'),
  }
}

type Described = Parameters<typeof jsonSchema>[0]

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

/** The schema of a body with the fields of a schema in administration/rules.ts, which itself checks the format of texts. */
export function body(title: string, description: string, rule: { shape: Record<string, Described> }): JsonSchema {
  const { properties, ...schema } = jsonSchema(object(title, description, jsonNamed(rule.shape)))
  const fields = Object.entries(properties as Record<string, JsonSchema>)
  return { ...schema, properties: Object.fromEntries(fields.map(([name, field]) => [name, withoutFormat(field)])) }
}

function withoutFormat({ pattern, allOf, maxLength, ...field }: JsonSchema): JsonSchema {
  return field.items ? { ...field, items: withoutFormat(field.items as JsonSchema) } : field
}
