import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { DOCUMENTS } from '../../lab/release/bundle/options.ts'
import { listenForOperators } from '../../src/ops/listener.ts'
import { referencePages } from '../../src/ops/reference.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const DOCS = new URL('../../docs/', import.meta.url)

async function startListener(t: Test): Promise<string> {
  const { address, close } = await listenForOperators({ host: '127.0.0.1', port: 0 }, referencePages(), () => {})
  t.teardown(close)
  return address
}

t.test('Reference: it is at /docs, and the OpenAPI document at /openapi.yaml', async (t) => {
  const address = await startListener(t)
  for (const [path, file, type] of [
    ['/docs', 'reference.html', 'text/html; charset=utf-8'],
    ['/openapi.yaml', 'openapi.yaml', 'application/yaml; charset=utf-8'],
  ] as const) {
    const answer = await fetch(address + path)
    t.strictSame([answer.status, answer.headers.get('content-type')], [200, type])
    t.equal(await answer.text(), readFileSync(new URL(file, DOCS), 'utf8'))
  }
})

t.test('Reference: the image has the documents that the program shows', async (t) => {
  const read = (file: string) => readFileSync(new URL(`../${file}`, DOCS), 'utf8')
  const copied = [...read('Dockerfile').matchAll(/^COPY (.*) \/app\/.*$/gm)].flatMap(([, from = '']) => from.split(' '))
  for (const pattern of DOCUMENTS) {
    // Docker would not look for a pattern in the folders of docs/.
    const from = pattern.replace(/^docs\/.*/, 'docs')
    t.ok(copied.includes(from), pattern)
    t.ok(read('.dockerignore').includes(`\n!${from}\n`), pattern)
  }
})

t.test('Reference: without its files there are no such pages', async (t) => {
  t.strictSame(referencePages(pathToFileURL(`${temporaryFolder(t)}/`)), {})
})

t.test('Reference: its policy allows no resources and no scripts', async (t) => {
  const { headers } = await fetch(`${await startListener(t)}/docs`)
  t.match(
    headers.get('content-security-policy'),
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  )
  const page = readFileSync(new URL('reference.html', DOCS), 'utf8')
  t.notMatch(page, /<script|<link|<img|<iframe|\bstyle=|\bon\w+=|@import|url\(/i)
  const targets = [...page.matchAll(/(?:href|src)="([^#"][^"]*)"/g)].map(([, target]) => target)
  t.strictSame(targets, ['openapi.yaml'])
})
