import fastify, { type RouteOptions } from 'fastify'
import { adminApi } from '../../../src/admin/api/api.ts'
import type { AdminContext } from '../../../src/admin/context.ts'
import { VERSION } from '../../../src/version.ts'
import {
  EXAMPLES,
  HEADERS,
  INFO,
  NOT_FOUND,
  PARAMETERS,
  PROBLEM,
  RESPONSES,
  TAGS,
  WRONG_PARAMETER,
} from './admin-components.ts'
import { OPERATIONS, type OperationText } from './admin-operations.ts'
import { content, type Examples, type Part, ref, refs, withSchemas } from './document.ts'

/** A route of the API, with its JSON schemas. */
interface Route {
  method: string
  /** With its parameters as OpenAPI has them. */
  path: string
  schema: { querystring: Part; body?: Part; response?: Record<string, Part> }
}

/** The headers of every answer. */
const EVERYWHERE = Object.keys(HEADERS).filter((name) => HEADERS[name]?.['x-everywhere'])

/** The parameter behind each part of a path. */
const PATH_PARAMETERS: Record<string, string> = {
  applications: 'client_id',
  suites: 'suite_id',
  operators: 'operator_name',
  keys: 'key_id',
  sessions: 'session_id',
}

/**
 * The OpenAPI description of the administration API. Throws where a route is not described, and where a description is
 * of no route.
 */
export async function adminDocument(operations = OPERATIONS): Promise<Part> {
  const routes = await routesOfApi()
  const described = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  const gone = Object.keys(operations).filter((route) => !described.has(route))
  if (gone.length > 0) throw new Error(`There is no route ${gone.join(', ')}.`)
  const paths: Record<string, Part> = {}
  for (const route of routes) {
    const parameters = pathParametersOf(route.path)
    paths[route.path] ??= parameters.length > 0 ? { parameters: parameters.map((one) => ref('parameters', one)) } : {}
    Object.assign(paths[route.path] as Part, {
      [route.method.toLowerCase()]: operation(route, operations[`${route.method} ${route.path}`]),
    })
  }
  return withSchemas({
    openapi: '3.1.1',
    info: { ...INFO, version: VERSION },
    servers: [
      {
        url: '{admin_url}',
        description: 'The admin listener: `ADMIN_ADDRESS`, or `ADMIN_URL`, with TLS here or at a proxy',
        variables: { admin_url: { default: 'http://localhost:8081' } },
      },
    ],
    security: [{ adminKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        adminKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'The admin key of an operator, as `operators key NAME --expires 90d` prints it, once',
          'x-example': '$ADMIN_KEY',
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      examples: EXAMPLES,
      responses: Object.fromEntries(
        Object.entries(RESPONSES).map(([name, { description, examples, headers = [] }]) => [
          name,
          problemResponse(description, examples, headers),
        ]),
      ),
    },
  })
}

async function routesOfApi(): Promise<Route[]> {
  const app = fastify()
  const routes: RouteOptions[] = []
  // HEAD is answered wherever GET is.
  app.addHook('onRoute', (route) => void (route.method === 'HEAD' || routes.push(route)))
  // What the routes do is not asked.
  const context = { signIn: {}, statistics: {} } as AdminContext
  await app.register(async (api) => adminApi(api, context), { prefix: '/admin/v1' })
  await app.ready()
  return routes.map(({ method, url, schema }) => ({
    method: String(method),
    path: url.replace(/\/(\w+)\/:\w+/g, (_, before: string) => `/${before}/{${nameIn(before)}}`),
    schema: schema as Route['schema'],
  }))
}

/** The name in the path of the parameter behind this part. */
function nameIn(before: string): string {
  return String(PARAMETERS[PATH_PARAMETERS[before] ?? 'secret_id']?.name)
}

/** The components that describe the parameters of a path. */
function pathParametersOf(path: string): string[] {
  const secret = path.includes('/suites/') ? 'suite_secret_id' : 'secret_id'
  return [...path.matchAll(/(\w+)\/\{/g)].map(([, before = '']) => PATH_PARAMETERS[before] ?? secret)
}

function operation(route: Route, text: OperationText | undefined): Part {
  if (!text) throw new Error(`${route.method} ${route.path} is not described in admin-operations.ts.`)
  const { operationId, summary, description, request = {} } = text
  const parameters = parametersOf(route, text)
  const { body } = route.schema
  return {
    tags: [tagOf(route.path)],
    operationId,
    summary,
    description,
    ...(parameters.length > 0 && { parameters: parameters.map((one) => ref('parameters', one)) }),
    ...(body && {
      requestBody: {
        required: body.type === 'object',
        ...content('application/json', body, request),
      },
    }),
    responses: responsesOf(route, text),
  }
}

/** The group of an operation: the first part of its path, up to a hyphen. */
function tagOf(path: string): string {
  if (/^\/admin\/v1\/applications\/\{client_id\}\/(secrets|federated)/.test(path)) return 'Secrets of applications'
  const [first = '', ...rest] = path.split(/[/-]/)[3] ?? ''
  return first.toUpperCase() + rest.join('')
}

/** Whether it changes an application or a suite that exists. */
function isChange({ method, path }: Route): boolean {
  return method !== 'GET' && /\{(client|suite)_id\}(?!\/approvals|\/federated\/test)/.test(path)
}

/** The parameters in the query and the headers. */
function parametersOf({ schema, ...route }: Route, { own = {} }: OperationText): string[] {
  const { properties } = schema.querystring
  return [
    ...Object.keys(properties as Part).map((name) => own[name] ?? name),
    ...(schema.response?.[201] ? ['Idempotency-Key'] : []),
    ...(isChange({ schema, ...route }) ? ['If-Match'] : []),
  ]
}

function responsesOf(route: Route, text: OperationText): Part {
  const { method, path, schema } = route
  const { notFound, conflict, wrong, answer } = text
  const [[status, body] = ['204', undefined]] = Object.entries(schema.response ?? {})
  const headers = [
    ...(status === '201' ? [...(text.hasLocation ? ['Location'] : []), 'Idempotent-Replayed'] : []),
    ...(/^(Application|Suite)$/.test(String(body?.title)) ? ['ETag'] : []),
  ]
  const isRead = method === 'GET'
  const unknown = notFound ?? Object.assign({}, ...pathParametersOf(path).map((one) => NOT_FOUND[one]))
  return {
    [status]: {
      description: answer,
      headers: refs('headers', [...EVERYWHERE, ...headers]),
      ...(body && content('application/json', body, text.examples as Examples)),
    },
    400: malformed(route, text),
    401: ref('responses', 'Unauthenticated'),
    ...(!isRead && { 403: ref('responses', 'Viewer') }),
    ...(path.includes('{') && { 404: problemResponse('It does not exist.', unknown) }),
    405: ref('responses', 'MethodNotAllowed'),
    408: ref('responses', 'TooSlow'),
    ...((conflict || !(isRead || text.whileMoved)) && {
      409: conflict
        ? problemResponse('It conflicts with the current state.', { ...conflict, ...refs('examples', ['store-moved']) })
        : ref('responses', 'Moved'),
    }),
    ...(isChange(route) && { 412: ref('responses', 'AnotherVersion') }),
    ...(schema.body && { 413: ref('responses', 'TooLarge'), 415: ref('responses', 'NotJson') }),
    ...(path.includes('{') && { 414: ref('responses', 'PathTooLong') }),
    421: ref('responses', 'AnotherHost'),
    ...(wrong && { 422: problemResponse('The body is valid JSON, but a value is wrong.', wrong) }),
    431: ref('responses', 'HeadersTooLarge'),
    500: ref('responses', 'Failed'),
    503: ref('responses', 'Unavailable'),
  }
}

/** The answer to a malformed request: to a wrong parameter, or to a body that is no JSON. */
function malformed(route: Route, text: OperationText): Part {
  const known = parametersOf(route, text).flatMap((name) => WRONG_PARAMETER[name] ?? [])
  if (!route.schema.body && known.length === 0) return ref('responses', 'Malformed')
  const names = route.schema.body ? ['not-json', ...known] : [...known, 'unknown-parameter']
  return problemResponse('The request is malformed.', refs('examples', [...names, 'not-HTTP']))
}

function problemResponse(description: string, examples: Examples, headers: readonly string[] = []): Part {
  return {
    description,
    headers: refs('headers', [...EVERYWHERE, ...headers]),
    ...content('application/problem+json', PROBLEM, examples),
  }
}
