import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ErrorAnswer } from '../domain/reasons.ts'
import { HAND_OVER_PATH } from '../domain/secret.ts'
import { timestamp } from '../domain/time.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { curl } from '../web/curl.ts'
import { type Html, html, type Part } from '../web/html.ts'
import { snippets } from '../web/snippets.ts'
import { ACCESS_TOKEN_PATH } from './access-token.ts'
import type { CheckOptions } from './wire/checks.ts'
import { formsOnly, readForm } from './wire/form.ts'
import { describe } from './wire/refuse.ts'
import { requesterOf } from './wire/request.ts'

/** Fills in the code from the fragment, which browsers never send, and removes it from the history. */
const SCRIPT = html`
const field = document.querySelector('input')
const read = () => {
  const code = location.hash.slice(1)
  if (!field || code === '') return
  history.replaceState(null, '', location.pathname)
  field.value = code
  field.parentElement.hidden = true
}
read()
addEventListener('hashchange', read)
// A browser may keep the whole page, with the secret, for its Back button.
if (!field) {
  addEventListener('pagehide', () => document.body.replaceChildren())
  addEventListener('pageshow', ({ persisted }) => persisted && location.replace(location.pathname))
}
addEventListener('click', async ({ target }) => {
  if (target.type !== 'button') return
  const copied = navigator.clipboard?.writeText(target.previousElementSibling.textContent) ?? Promise.reject()
  target.ariaLabel = target.textContent = await copied.then(() => 'Copied', () => 'Select and copy it')
})
`

const STYLE = html`
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, "Liberation Sans", sans-serif; background: light-dark(#f5f6f8, #0f1318); color: light-dark(#1c2430, #e3e7ed) }
* { box-sizing: border-box }
body { margin: 0; padding: 1rem }
main { max-width: 42rem; margin: 6vh auto; padding: 1rem clamp(1rem, 5vw, 2rem); border: 1px solid light-dark(#dfe3e8, #2d3540); border-radius: 8px; background: light-dark(#fff, #171c23); overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.25 }
label, dt { display: block; font-weight: 600 }
dd { display: flex; flex-wrap: wrap; gap: .5rem; align-items: start; margin: .25rem 0 1rem }
input, code { min-width: 0; padding: .5rem .625rem; border-radius: 6px; background: none; color: inherit; font: clamp(.6875rem, 2.9vw, .875rem)/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace }
input { width: 100%; border: 1px solid light-dark(#828c99, #738091) }
code { flex: 1 1 16rem; background: light-dark(#eef1f5, #222933); white-space: pre-wrap; user-select: all }
button { padding: .5rem 1rem; border: 0; border-radius: 6px; background: light-dark(#0b57c4, #8ab8ff); color: light-dark(#fff, #0b1b33); font: inherit; font-weight: 600; cursor: pointer }
:is(a, button, input):focus-visible { outline: 2px solid light-dark(#0b57c4, #8ab8ff); outline-offset: 2px }
dd button { border: 1px solid light-dark(#828c99, #738091); background: none; color: inherit; font-size: .875rem }
a { color: light-dark(#0b57c4, #8ab8ff) }
[hidden] { display: none }
@media (scripting: none) { dd button { display: none } }
`

const sourceOf = (content: Html) => `'sha256-${hash('sha256', content.text, 'base64')}'`

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${sourceOf(STYLE)}; script-src ${sourceOf(SCRIPT)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

/** These routes answer refused requests with pages, too. */
const config = {
  showError: (reply: FastifyReply, answer: ErrorAnswer, field?: string) =>
    showPage(
      reply.code(answer.status),
      answer.status === 403 ? 'This link no longer works' : 'This did not work',
      html`<p>${describe(answer, field)}.</p><p><a href="${HAND_OVER_PATH.slice(1)}">Enter a code</a></p>`,
    ),
}

/**
 * The page that a hand-over link opens. It shows and changes nothing, because programs that scan mail open links. Its button
 * sends the code, and the answer shows the new secret, once.
 */
export function handOver(
  app: FastifyInstance,
  use: NonNullable<Issuer['handOver']>,
  { observe, publicUrl }: CheckOptions,
): void {
  app.get(HAND_OVER_PATH, { config }, (_request, reply) =>
    showPage(reply, `A client secret from ${new URL(publicUrl).host}`, FORM),
  )

  app.post(HAND_OVER_PATH, { config, onRequest: formsOnly }, async (request, reply) => {
    // People may paste the whole link.
    const code = readForm(request, ['code']).code.split('#').at(-1)?.trim() as string
    const handedOver = await use(code, requesterOf(request), observe)
    const { name, clientId, clientSecret, othersEndAt } = handedOver
    const url = publicUrl + ACCESS_TOKEN_PATH
    const command = curl(url, 'grant_type=client_credentials', { clientId, clientSecret })
    const programs = snippets({ url, clientId }).map(({ language, program }) => copyable([language, program]))
    return showPage(
      reply,
      'Your new client secret',
      html`<p>For the application <strong><bdi>${name}</bdi></strong>. <strong>Store the secret in a safe place now:</strong> it is shown only once, and the link does not work again.</p>
<dl>${[
        ['Client id', clientId],
        ['Client secret', clientSecret],
        ['Get a token with it, in a terminal', command],
      ].map(copyable)}</dl>
<details><summary>In a program that reads the secret from the environment, as CLIENT_SECRET</summary><dl>${programs}</dl></details>
<p>Older secrets of the application end at ${timestamp(othersEndAt).slice(0, 16).replace('T', ' ')} UTC, if not earlier.</p>`,
    )
  })
}

/** Sent to a path next to this one, so that it works behind a proxy that adds a prefix. */
const FORM = html`<p>The button shows a new client secret, once: have a safe place ready for it.</p>
<form method="post" action="${HAND_OVER_PATH.slice(1)}"><p><label for="code">Enter the code that you were sent: the part of the link after the #</label><input id="code" name="code" required autocomplete="off" autocapitalize="none" spellcheck="false"></p><p><button>Show the secret</button></p></form>`

function copyable([label, value]: string[]): Html {
  return html`<dt>${label}</dt><dd><code>${value}</code><button type="button" aria-label="Copy: ${label}">Copy</button></dd>`
}

function showPage(reply: FastifyReply, title: string, content: Part): FastifyReply {
  return reply.headers(HEADERS).send(
    html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
<main><h1>${title}</h1>
${content}</main>
<script type="module">${SCRIPT}</script>
</html>
`.text,
  )
}
