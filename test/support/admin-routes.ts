import { channel } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

export interface AdminRoute {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Its pattern. */
  url: string
  /** One that the pattern matches. */
  path: string
}

/** Builds an app, and notes every route that it gets. */
export async function withRoutes(
  build: () => Promise<FastifyInstance>,
): Promise<{ app: FastifyInstance; routes: AdminRoute[] }> {
  const routes: AdminRoute[] = []
  const note = ({ url, method }: Pick<RouteOptions, 'url' | 'method'>) => {
    const path = url.replace(/:\w+/g, 'x').replace('*', 'console.css')
    for (const one of [method].flat()) routes.push({ method: one as AdminRoute['method'], url, path })
  }
  const watch = (message: unknown) => (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', note)
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
