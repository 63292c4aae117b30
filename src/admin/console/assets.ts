import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { ProblemError } from '../wire/problem.ts'

const FOLDER = new URL('./assets/', import.meta.url)

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

interface Asset {
  url: string
  type: string
  body: string
}

/** Read once, by name. The URL contains a hash of the content, so browsers may cache it forever. */
const ASSETS = new Map<string, Asset>(
  readdirSync(FOLDER).map((name) => {
    const body = readFileSync(new URL(name, FOLDER), 'utf8')
    const [kind, extension] = [name.slice(0, -extname(name).length), extname(name)]
    const url = `/assets/${kind}-${hash('sha256', body).slice(0, 16)}${extension}`
    return [name, { url, type: TYPES[extension] as string, body }]
  }),
)

/** The URL of a file in assets/. */
export function asset(name: string): string {
  return (ASSETS.get(name) as Asset).url
}

/** Serves the files in assets/ from memory. They are public: no session is needed. */
export function serveAssets(app: FastifyInstance): void {
  const byUrl = new Map([...ASSETS.values()].map((asset) => [asset.url, asset]))
  app.get('/assets/*', ({ url }, reply) => {
    const found = byUrl.get(url)
    if (!found) throw new ProblemError({ status: 404, detail: 'There is no such file.' })
    return reply.header('cache-control', 'public, max-age=31536000, immutable').type(found.type).send(found.body)
  })
}
