import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Pages } from './listener.ts'

const DOCS = new URL('../../docs/', import.meta.url)

/** The reference page of the endpoints, and the description that it is made from. Read once; without the files: nothing. */
export function referencePages(folder = DOCS): Pages {
  try {
    const page = readFileSync(new URL('reference.html', folder), 'utf8')
    const description = readFileSync(new URL('openapi.yaml', folder), 'utf8')
    const headers = { 'content-security-policy': policyOf(page), 'referrer-policy': 'no-referrer' }
    return {
      '/docs': () => ({ type: 'text/html; charset=utf-8', headers, body: page }),
      '/openapi.yaml': () => ({ type: 'application/yaml; charset=utf-8', body: description }),
    }
  } catch {
    // Nobody who asks for a token needs them.
    return {}
  }
}

/** A Content-Security-Policy (CSP 3) that lets a page have its one style element, and load and run nothing. */
function policyOf(page: string): string {
  const style = page.slice(page.indexOf('<style>') + '<style>'.length, page.indexOf('</style>'))
  const only = `style-src 'sha256-${hash('sha256', style, 'base64')}'`
  return ["default-src 'none'", only, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join('; ')
}
