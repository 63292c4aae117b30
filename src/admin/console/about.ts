import type { FastifyInstance } from 'fastify'
import { programFile, readText } from '../../program-files.ts'
import { html } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { facts, section, table, time } from './components.ts'
import { icon } from './icons.ts'
import { showPage } from './layout.ts'

const DESCRIPTION = programFile('../docs/openapi-admin.yaml')

/** /about: the versions, links to the documentation, and the settings without passwords. */
export function aboutPage(console: FastifyInstance, context: AdminContext): void {
  console.get('/openapi-admin.yaml', (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(readText(DESCRIPTION)),
  )

  console.get('/about', (_request, reply) => {
    const { version, node, store, startedAt, settings, urls } = context.about
    const { docsUrl, opsUrl } = urls
    const program = facts([
      ['Version', version],
      ['Node.js', node],
      ['Database', store],
      ['Started', time(startedAt)],
      opsUrl !== undefined && [
        'API reference',
        html`<code>${opsUrl}/docs</code> <span class="hint">from where OPS_ADDRESS can be reached</span>`,
      ],
      [
        'Administration API',
        html`<a href="/openapi-admin.yaml">openapi-admin.yaml</a> <span class="hint">OpenAPI</span>`,
      ],
      ['Documents', html`<a href="/docs">of this version</a>`],
      docsUrl !== undefined && [
        'Documentation',
        html`<a href="${docsUrl}" rel="noreferrer">${docsUrl} ${icon('elsewhere')}</a>`,
      ],
    ])
    const columns = ['Setting', 'Value', 'Meaning']
    const rows = settings.map(({ name, value, meaning }) => [
      html`<code id="${name}">${name}</code>`,
      value,
      html`<span class="hint">${meaning}</span>`,
    ])
    const listed = html`<p class="hint">Read from the environment and from <code>.env</code> when the server starts. Passwords are left out.</p>
${table('Settings, their values and what they mean', columns, rows)}`
    return showPage(reply, {
      title: 'About',
      section: '/about',
      content: html`${section('program', 'This server', program)}
${section('settings', 'Settings', listed)}`,
    })
  })
}
