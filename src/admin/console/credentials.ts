import type { AdminContext } from '../context.ts'
import { section } from './components/words.ts'
import { type Html, html, type Part, path } from './html.ts'
import type { Page } from './layout.ts'

interface Client {
  /** The client id of an application, or the id of a suite. */
  clientId: string
  /** Undefined unless the secret is new: it is shown only once. */
  clientSecret?: string | undefined
  /** The URL at which clients reach this server. */
  publicUrl: string
}

/** The URL at which clients reach this server, and that of the documentation for developers. Empty if unknown. */
export function urlsOf({ about: { settings } }: Pick<AdminContext, 'about'>) {
  const settingOf = (name: string) => {
    const value = settings.find((setting) => setting.name === name)?.value
    return value === undefined || value === 'none' ? '' : value
  }
  return { publicUrl: settingOf('PUBLIC_URL'), docsUrl: settingOf('DOCS_URL') }
}

interface NewCredentials extends Omit<Page, 'heading'> {
  heading: Part
  clientId: string
  clientSecret: string
  /** What to do with the secret. */
  advice: Part
}

/** A page that shows a new secret, once, above its content. */
export function credentialsPage({ heading, clientId, clientSecret, advice, content, ...page }: NewCredentials): Page {
  return {
    ...page,
    heading: html`<span>${heading}</span>`,
    content: html`${secretBox(
      [
        { id: 'client-id', label: 'Client id', value: clientId },
        { id: 'client-secret', label: 'Client secret', value: clientSecret },
      ],
      html`<p><strong>Copy the secret now.</strong> When you leave this page, it cannot be shown again. ${advice}</p>`,
    )}
${content}`,
  }
}

/** Values that are shown only once, such as a new secret. `advice`: what to do with them. */
function secretBox(values: readonly { id: string; label: string; value: string }[], advice: Part): Html {
  return html`<div class="secret" role="group" aria-label="New credentials">${values.map(({ id, label, value }) => copyable(id, label, value))}<div>${advice}</div></div>`
}

/** A value with a copy button, which console.js shows. `id`: unique on the page. */
export function copyable(id: string, label: string, value: string): Html {
  return html`<div class="copyable"><p class="copyable-label" id="${id}-label">${label}</p><div class="copyable-value"><code id="${id}">${value}</code><button type="button" class="button small" data-copy="${id}" aria-describedby="${id}-label" hidden>Copy</button></div></div>`
}

/** Commands that get a token, and check it at the first of the approved suites. */
export function tryIt({ suites: [suiteId], ...client }: Client & { suites: readonly string[] }): Html {
  const command = curl('/v1/oauth/accesstoken', 'grant_type=client_credentials', client)
  return section(
    'try',
    'Get a token',
    html`${copyable('curl', 'In a terminal', command)}
${suiteId !== undefined && copyable('use', `Use it at ${suiteId}, with the access_token of the answer`, useCommand(suiteId, client.publicUrl))}`,
  )
}

/** How to check tokens for a suite: through a gateway, or with introspection. */
export function howToCheckTokens({
  suiteId,
  docsUrl,
  ...client
}: Omit<Client, 'clientId'> & { suiteId: string; docsUrl: string | undefined }): Html {
  const { publicUrl } = client
  return html`<div class="prose"><p>A gateway in front of the suite sends the Authorization header of each request to this address, and lets the request through if the answer is 200:</p></div>
${copyable('verify', 'Gateway check', verifyUrl(suiteId, publicUrl))}
${copyable('use', 'Try it in a terminal, with the token of an approved application', useCommand(suiteId, publicUrl))}
<div class="prose"><p>A suite that checks tokens itself uses introspection (RFC 7662), with its client id and secret:</p></div>
${copyable('introspect', 'Introspection', `${publicUrl}/v1/oauth/introspect`)}
${introspectionCommand({ clientId: suiteId, ...client })}
${docsUrl && html`<p><a href="${docsUrl}" rel="noreferrer">Read more</a></p>`}`
}

/** The command with which a suite introspects a token. */
export function introspectionCommand(suite: Client): Html {
  const command = curl('/v1/oauth/introspect', 'token=ACCESS_TOKEN', suite)
  return copyable('introspect-curl', 'Try it in a terminal, with the token of an approved application', command)
}

/** Quoted and URL-encoded, because a client id that was registered elsewhere may have any ASCII character. */
function curl(path: string, data: string, { clientId, clientSecret = 'CLIENT_SECRET', publicUrl }: Client): string {
  return [
    `curl ${quoted(`${publicUrl}${path}`)}`,
    `-d ${quoted(data)}`,
    `--data-urlencode ${quoted(`client_id=${clientId}`)}`,
    `--data-urlencode ${quoted(`client_secret=${clientSecret}`)}`,
  ].join(' \\\n  ')
}

/** The command that checks a token at a suite, as a gateway does. */
function useCommand(suiteId: string, publicUrl: string): string {
  return `curl -i ${quoted(verifyUrl(suiteId, publicUrl))} \\\n  -H "Authorization: Bearer ACCESS_TOKEN"`
}

function verifyUrl(suiteId: string, publicUrl: string): string {
  return `${publicUrl}${path`/v1/oauth/verify/${suiteId}`}`
}

/** Quotes a text as one word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
