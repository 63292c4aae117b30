import { existsSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { facts, section, table, time } from './components.ts'
import { html } from './html.ts'
import { showPage } from './layout.ts'
import { urlsOf } from './secrets.ts'

const DOCS = new URL('../../../docs/', import.meta.url)

/** The OpenAPI descriptions. The server works without them. */
const DESCRIPTIONS = (
  [
    ['openapi-admin.yaml', 'for your programs that do what this console does'],
    ['openapi.yaml', 'for partners and gateways'],
  ] as const
).filter(([file]) => existsSync(new URL(file, DOCS)))

/** /about: the versions, links to the documentation, and the settings without passwords. */
export function aboutPage(console: FastifyInstance, context: AdminContext): void {
  for (const [file] of DESCRIPTIONS) {
    const description = readFileSync(new URL(file, DOCS))
    console.get(`/${file}`, (_request, reply) => reply.type('application/yaml; charset=utf-8').send(description))
  }

  console.get('/about', (_request, reply) => {
    const { version, node, store, startedAt, settings } = context.about
    const { docsUrl, opsAddress } = urlsOf(context)
    const reference = `http://${opsAddress}/docs`
    const program = facts([
      ['Version', version],
      ['Node.js', node],
      ['Database', store],
      ['Started', time(startedAt)],
      opsAddress !== '' && ['API reference', html`<a href="${reference}" rel="noreferrer">${reference}</a>`],
      DESCRIPTIONS.length > 0 && [
        'API descriptions',
        html`<ul class="hits">${DESCRIPTIONS.map(([file, meaning]) => html`<li><a href="/${file}">${file}</a> <span class="hint">OpenAPI, ${meaning}</span></li>`)}</ul>`,
      ],
      docsUrl !== '' && ['Documentation', html`<a href="${docsUrl}" rel="noreferrer">${docsUrl}</a>`],
    ])
    const columns = ['Setting', 'Value', 'Meaning']
    const rows = settings.map(({ name, value, meaning }) => [
      html`<code>${name}</code>`,
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
