import { channel } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

export interface AdminRoute {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The route pattern. */
  url: string
  /** A path that matches the pattern. */
  path: string
}

/** Builds an app and collects its routes. */
export async function withRoutes(
  build: () => Promise<FastifyInstance>,
): Promise<{ app: FastifyInstance; routes: AdminRoute[] }> {
  const routes: AdminRoute[] = []
  const collect = ({ url, method }: Pick<RouteOptions, 'url' | 'method'>) => {
    const path = url.replace(/:\w+/g, 'x').replace('*', 'console.css')
    for (const one of [method].flat()) routes.push({ method: one as AdminRoute['method'], url, path })
  }
  const watch = (message: unknown) => (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', collect)
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
