import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { facts, section, table, time } from './components.ts'
import { html } from './html.ts'
import { showPage } from './layout.ts'
import { urlsOf } from './secrets.ts'

/** /about: the versions, and the settings without passwords. */
export function aboutPage(console: FastifyInstance, context: AdminContext): void {
  console.get('/about', (_request, reply) => {
    const { version, node, store, startedAt, settings } = context.about
    const { docsUrl } = urlsOf(context)
    const program = facts([
      ['Version', version],
      ['Node.js', node],
      ['Database', store],
      ['Started', time(startedAt)],
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
