export interface Client {
  /** The client id of an application, or the id of a suite. */
  clientId: string
  /** Undefined unless the secret is new, because it is shown only once. */
  clientSecret?: string | undefined
}

/**
 * The command that sends a form with the credentials of a client. Quoted and URL-encoded, because a client id that was registered
 * elsewhere may have any ASCII character.
 */
export function curl(url: string, data: string, { clientId, clientSecret = 'CLIENT_SECRET' }: Client): string {
  return [
    `curl ${quoted(url)}`,
    `-d ${quoted(data)}`,
    `--data-urlencode ${quoted(`client_id=${clientId}`)}`,
    `--data-urlencode ${quoted(`client_secret=${clientSecret}`)}`,
  ].join(' \\\n  ')
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
