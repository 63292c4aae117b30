import { channel } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import type { FastifyInstance, RouteOptions } from 'fastify'

export interface AdminRoute {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The route pattern. */
  url: string
  /** A path that matches the pattern. */
  path: string
}

type Compile = (...given: unknown[]) => unknown

const requireOfFastify = createRequire(import.meta.resolve('fastify'))

/**
 * Fastify's own compilers, for all apps of this process: one app after the other would compile the same schemas again, which
 * takes most of the time that it takes to build one.
 */
const COMPILERS = {
  buildValidator: once(requireOfFastify('@fastify/ajv-compiler')()),
  buildSerializer: once(requireOfFastify('@fastify/fast-json-stringify-compiler')()),
}

/** A factory that makes one compiler for the same options, which compiles the same schema once. */
function once(factory: (...given: unknown[]) => Compile): (...given: unknown[]) => Compile {
  return remembered((...options) => remembered(factory(...options)))
}

function remembered<Result>(make: (...given: unknown[]) => Result): (...given: unknown[]) => Result {
  const made = new Map<string, Result>()
  return (...given) => {
    const key = JSON.stringify(given)
    if (!made.has(key)) made.set(key, make(...given))
    return made.get(key) as Result
  }
}

/** Builds an app and collects its routes. */
export async function withRoutes(build: () => Promise<FastifyInstance>) {
  const routes: AdminRoute[] = []
  const collect = ({ url, method }: Pick<RouteOptions, 'url' | 'method'>) => {
    const path = url.replace(/:\w+/g, 'x').replace('*', 'console.css')
    for (const one of [method].flat()) routes.push({ method: one as AdminRoute['method'], url, path })
  }
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.setSchemaController({ compilersFactory: COMPILERS as never })
    fastify.addHook('onRoute', collect)
  }
  const created = channel('fastify.initialization')
  created.subscribe(watch)
  try {
    const app = await build()
    await app.ready()
    return { app, routes }
  } finally {
    created.unsubscribe(watch)
  }
}
