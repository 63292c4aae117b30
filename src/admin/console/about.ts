import type { FastifyInstance } from 'fastify'
import type { About, AdminContext } from '../context.ts'
import { table } from './components/table.ts'
import { facts, section, time } from './components/words.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { showPage } from './page.ts'
import { settingOf } from './settings.ts'

/** /about: the versions, and the settings without passwords. */
export function aboutPage(console: FastifyInstance, { about }: AdminContext): void {
  console.get('/about', (_request, reply) => showPage(reply, page(about)))
}

function page(about: About): Page {
  const { version, node, store, startedAt, settings } = about
  const docs = settingOf({ about }, 'DOCS_URL')
  return {
    title: 'About',
    section: '/about',
    content: html`${section(
      'program',
      'This server',
      facts([
        ['Version', version],
        ['Node.js', node],
        ['Database', store],
        ['Started', time(startedAt)],
        docs !== '' && ['Documentation', html`<a href="${docs}" rel="noreferrer">${docs}</a>`],
      ]),
    )}
${section(
  'settings',
  'Settings',
  html`<p class="hint">Read from the environment and from <code>.env</code> when the server starts. Passwords are left out.</p>
${table(
  'Settings, their values and what they mean',
  [{ label: 'Setting' }, { label: 'Value' }, { label: 'Meaning' }],
  settings.map(({ name, value, meaning }) => [
    html`<code>${name}</code>`,
    value,
    html`<span class="hint">${meaning}</span>`,
  ]),
)}`,
)}`,
  }
}
