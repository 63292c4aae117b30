import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { ProblemError } from '../wire/problem.ts'

const FOLDER = new URL('./assets/', import.meta.url)

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

/** The files in assets/ by name, read once. The URL contains a hash of the content, so browsers may cache it forever. */
const ASSETS = new Map(
  readdirSync(FOLDER).map((file) => {
    const body = readFileSync(new URL(file, FOLDER), 'utf8')
    const { name, ext } = parse(file)
    const url = `/assets/${name}-${hash('sha256', body).slice(0, 16)}${ext}`
    return [file, { url, type: TYPES[ext] as string, body }] as const
  }),
)

/** The URL of a file in assets/. */
export function asset(name: string): string {
  return (ASSETS.get(name) as { url: string }).url
}

/** Serves the files in assets/ from memory. They are public: no session is needed. */
export function serveAssets(app: FastifyInstance): void {
  const byUrl = new Map([...ASSETS.values()].map((asset) => [asset.url, asset]))
  app.get('/assets/*', { config: { findsSession: false } }, ({ url }, reply) => {
    const found = byUrl.get(url)
    if (!found) throw new ProblemError('no_such_path', 'There is no such file.')
    return reply.header('cache-control', 'public, max-age=31536000, immutable').type(found.type).send(found.body)
  })
}
