import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operationsOf, readDescription } from '../../reference/description.ts'
import { referencePage } from '../../reference/page.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const description = readDescription(join(DOCS, 'openapi.yaml'))
const page = referencePage(description, 'openapi.yaml')

t.test('Reference: docs/reference.html is made from docs/openapi.yaml as it is: `npm run docs`', async (t) => {
  t.ok(readFileSync(join(DOCS, 'reference.html'), 'utf8') === page)
})

t.test('Reference: it has every endpoint, field, header and refusal', async (t) => {
  const { components, paths } = description
  const has = (text: string) => t.ok(page.includes(text.replaceAll('"', '&quot;').replaceAll('`', '')), text)
  for (const path of Object.keys(paths)) has(path)
  for (const { properties = {} } of Object.values(components.schemas))
    for (const name of Object.keys(properties)) has(name)
  for (const name of Object.keys(components.headers)) has(name)
  for (const { responses } of operationsOf(description)) {
    for (const { content = {} } of Object.values(responses)) {
      for (const { examples } of Object.values(content)) {
        for (const { value } of Object.values(examples))
          has((value as { error_description?: string }).error_description ?? '')
      }
    }
  }
})

t.test('Reference: what a description says is text, and never HTML', async (t) => {
  const { info } = description
  const text = '<b>"&" `<i>`'
  const shown = referencePage({ ...description, info: { ...info, summary: text, description: text } }, 'openapi.yaml')
  t.ok(shown.includes('<p class="summary">&lt;b&gt;&quot;&amp;&quot; `&lt;i&gt;`</p>'))
  t.ok(shown.includes('<p>&lt;b&gt;&quot;&amp;&quot; <code>&lt;i&gt;</code></p>'))
})
