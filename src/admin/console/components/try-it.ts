import { type Html, html, path } from '../html.ts'
import { copyable } from './secret-box.ts'
import { section } from './words.ts'

interface Client {
  clientId: string
  /** Undefined unless the secret is new: it is shown only once. */
  clientSecret?: string | undefined
  /** The URL at which clients reach this server. */
  publicUrl: string
}

interface TryIt extends Client {
  /** The ids of the approved suites. */
  suites: readonly string[]
}

/** Commands that get a token, and check it at the first approved suite. */
export function tryIt({ suites: [suiteId], ...credentials }: TryIt): Html {
  return section(
    'try',
    'Get a token',
    html`${copyable('curl', 'In a terminal', tokenCommand(credentials))}
${suiteId !== undefined && copyable('use', `Use it at ${suiteId}, with the access_token of the answer`, useCommand(suiteId, credentials.publicUrl))}`,
  )
}

/** The command that introspects a token. `clientId`: of the suite. */
export function introspectionCommand({ publicUrl, ...credentials }: Client): Html {
  const command = curl(`${publicUrl}/v1/oauth/introspect`, 'token=ACCESS_TOKEN', credentials)
  return copyable('introspect-curl', 'Try it in a terminal, with the token of an approved application', command)
}

function tokenCommand({ publicUrl, ...credentials }: Client): string {
  return curl(`${publicUrl}/v1/oauth/accesstoken`, 'grant_type=client_credentials', credentials)
}

/** Quoted and URL-encoded, because a client id that was registered elsewhere may have any ASCII character. */
function curl(
  url: string,
  data: string,
  { clientId, clientSecret = 'CLIENT_SECRET' }: Omit<Client, 'publicUrl'>,
): string {
  return [
    `curl ${quoted(url)}`,
    `-d ${quoted(data)}`,
    `--data-urlencode ${quoted(`client_id=${clientId}`)}`,
    `--data-urlencode ${quoted(`client_secret=${clientSecret}`)}`,
  ].join(' \\\n  ')
}

/** The command that checks a token at a suite, as a gateway does. */
export function useCommand(suiteId: string, publicUrl: string): string {
  const address = `${publicUrl}${path`/v1/oauth/verify/${suiteId}`}`
  return `curl -i ${quoted(address)} \\\n  -H "Authorization: Bearer ACCESS_TOKEN"`
}

/** Quotes a text as one word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
