import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type Description, operationsOf } from '../../../lab/reference/description.ts'

/** Every route of an app, `GET /path/{parameter}`; a route for all methods is `* /path`. */
export function routesOf(app: FastifyInstance): string[] {
  const parents: string[] = []
  const lines = app.printRoutes({ commonPrefix: false }).trimEnd().split('\n')
  return lines.flatMap((line) => {
    const [, indent = '', segment = '', methods = ''] = /^((?:[│ ] {3})*)[├└]── (\S+) \(([^)]+)\)$/.exec(line) ?? []
    const depth = indent.length / 4
    parents.length = depth
    parents.push(segment)
    return routes(parents.join('').replace(/:(\w+)/g, '{$1}'), methods.split(', '))
  })
}

/** Every route that a description has. */
export function describedRoutesOf(description: Description): string[] {
  const operations = operationsOf(description)
  return Object.entries(description.paths).flatMap(([path, item]) => {
    const methods = operations.filter((operation) => operation.path === path).map(({ method }) => method)
    // All of OpenAPI 3.1 but TRACE, at which generators of clients fail.
    return item['x-any-method'] && methods.length === 7 ? [`* ${path}`] : routes(path, methods)
  })
}

function routes(path: string, methods: string[]): string[] {
  return methods.length === METHODS.length ? [`* ${path}`] : methods.map((method) => `${method} ${path}`)
}
