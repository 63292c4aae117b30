import { SourceMap } from 'node:module'
import { basename } from 'node:path'
import { programFile, readText } from '../../../src/program-files.ts'

// Makes stack traces of the bundle name the sources. With --enable-source-maps, Node.js would read every map at the start: 8 MB
// and 10 ms. Here one is read when a stack is shown.

const maps = new Map<string, SourceMap | undefined>()

Error.prepareStackTrace = (error: NodeJS.ErrnoException, sites) => {
  // Node.js's own, for a report of the process: the driver of SQLite asks for one to see which libc there is.
  const show = error.code === 'ERR_SYNTHETIC' ? String : inSources
  return [error, ...sites.map((site) => `    at ${show(site)}`)].join('\n')
}

function inSources(site: NodeJS.CallSite): string {
  const [file, line, column] = [site.getFileName() ?? '', site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0]
  const origin = mapOf(basename(file))?.findOrigin(line, column)
  if (!origin || !('fileName' in origin)) return String(site)
  const place = `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`
  return String(site).replace(`${file}:${line}:${column}`, place)
}

function mapOf(name: string): SourceMap | undefined {
  if (!maps.has(name)) maps.set(name, readMap(name))
  return maps.get(name)
}

function readMap(name: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readText(programFile(`${name}.map`))))
  } catch {
    // It is not a file of the bundle.
    return undefined
  }
}
