import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

// Makes stack traces of the bundle name the sources. With --enable-source-maps, Node.js would read every map at the start: 8 MB
// and 10 ms. Here one is read when a stack is shown.

const maps = new Map<string, SourceMap | undefined>()

Error.prepareStackTrace = (error, sites) => [error, ...sites.map((site) => `    at ${inSources(site)}`)].join('\n')

function inSources(site: NodeJS.CallSite): string {
  const [file, line, column] = [site.getFileName() ?? '', site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0]
  const origin = mapOf(file)?.findOrigin(line, column)
  if (!origin || !('fileName' in origin)) return String(site)
  const place = `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`
  return String(site).replace(`${file}:${line}:${column}`, place)
}

function mapOf(file: string): SourceMap | undefined {
  if (!file.startsWith(new URL('.', import.meta.url).href)) return undefined
  if (!maps.has(file)) {
    const path = `${fileURLToPath(file)}.map`
    maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined)
  }
  return maps.get(file)
}
