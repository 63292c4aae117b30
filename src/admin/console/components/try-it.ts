import { type Html, html, path } from '../html.ts'
import { copyable } from './secret-box.ts'
import { section } from './words.ts'

interface TryIt {
  clientId: string
  /** Undefined: it is not known any more. */
  clientSecret?: string | undefined
  /** The ids of the suites that it is approved for. */
  suites: readonly string[]
  /** Where clients reach this server. */
  publicUrl: string
}

/** What a developer types to get a token, and to use it at a suite. */
export function tryIt({ suites: [suiteId], ...credentials }: TryIt): Html {
  return section(
    'try',
    'Get a token',
    html`${copyable('curl', 'In a terminal', tokenCommand(credentials))}
${suiteId !== undefined && copyable('use', `Use it at ${suiteId}, with the access_token of the answer`, useCommand(suiteId, credentials.publicUrl))}`,
  )
}

/** A client id that was brought along may have any character of ASCII. */
function tokenCommand({ clientId, clientSecret = 'CLIENT_SECRET', publicUrl }: Omit<TryIt, 'suites'>): string {
  return [
    `curl ${quoted(`${publicUrl}/v1/oauth/accesstoken`)}`,
    "-d 'grant_type=client_credentials'",
    `--data-urlencode ${quoted(`client_id=${clientId}`)}`,
    `--data-urlencode ${quoted(`client_secret=${clientSecret}`)}`,
  ].join(' \\\n  ')
}

/** What asks as a gateway does whether a token is valid at a suite. */
export function useCommand(suiteId: string, publicUrl: string): string {
  const address = `${publicUrl}${path`/v1/oauth/verify/${suiteId}`}`
  return `curl -i ${quoted(address)} \\\n  -H "Authorization: Bearer ACCESS_TOKEN"`
}

/** A text as a shell takes it as one word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
