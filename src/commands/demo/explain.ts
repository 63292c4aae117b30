import { ACCESS_TOKEN_PATH } from '../../http/access-token.ts'
import { VERIFY_PATH } from '../../http/wire/target.ts'
import type { Credentials } from './world.ts'

/** What the demo prints first: the way to the console, and what to ask the server by hand. */
export function explain({
  address,
  link,
  application: { clientId, clientSecret },
  isTTY,
}: {
  address: string
  link: string
  application: Credentials
  /** Whether somebody can press a key. */
  isTTY: boolean
}): string {
  const token = `curl -s ${address}${ACCESS_TOKEN_PATH} \\
    -d 'grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}'`
  return `
Open the console in a browser. The link works once, within 10 minutes${isTTY ? '; Enter prints another one' : ''}.

  ${link}

The server itself listens on ${address}. Everything in it is gone when it stops (Ctrl-C).

By hand, an application asks for a token, and a gateway whether a request may pass to the store suite: with that token it
may; without one, or with an invalid one, it may not.

  ${token}

  TOKEN=$(${token} |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -i ${address}${VERIFY_PATH}/store -H "Authorization: Bearer $TOKEN"
  curl -i ${address}${VERIFY_PATH}/store
  curl -i ${address}${VERIFY_PATH}/store -H 'Authorization: Bearer nonsense'

`
}
