import { hash } from 'node:crypto'
import { programFile, readText } from '../program-files.ts'
import type { Pages } from './listener.ts'

const DOCS = programFile('../docs/')

/** The reference page of the endpoints and its OpenAPI document. Reads them once; has no pages if the files are missing. */
export function referencePages(folder = DOCS): Pages {
  try {
    const page = readText(new URL('reference.html', folder))
    const description = readText(new URL('openapi.yaml', folder))
    const headers = { 'content-security-policy': policyOf(page), 'referrer-policy': 'no-referrer' }
    return {
      '/docs': () => ({ type: 'text/html; charset=utf-8', headers, body: page }),
      '/openapi.yaml': () => ({ type: 'application/yaml; charset=utf-8', body: description }),
    }
  } catch {
    // The server works without them.
    return {}
  }
}

/** A Content-Security-Policy (CSP 3) that allows the one style element of a page, and no resources or scripts. */
function policyOf(page: string): string {
  const style = page.slice(page.indexOf('<style>') + '<style>'.length, page.indexOf('</style>'))
  const only = `style-src 'sha256-${hash('sha256', style, 'base64')}'`
  return ["default-src 'none'", only, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join('; ')
}
