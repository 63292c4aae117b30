import { ACCESS_TOKEN_PATH } from '../../http/access-token.ts'
import { VERIFY_PATH } from '../../http/wire/target.ts'
import type { Credentials } from './world.ts'

/** What the demo prints first: a login link, and requests to try. */
export function explain({
  address,
  link,
  application: { clientId, clientSecret },
  isTTY,
}: {
  address: string
  link: string
  application: Credentials
  /** Whether someone can press Enter. */
  isTTY: boolean
}): string {
  const token = `curl -s ${address}${ACCESS_TOKEN_PATH} \\
    -d 'grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}'`
  return `
Open the console in a browser. The link signs you in once, within 10 minutes.${isTTY ? ' Press Enter for another link.' : ''}

  ${link}

The server itself answers programs at ${address}. Press Ctrl-C to stop: everything in the demo is gone then.

To try it in another terminal:

  1. An application gets a token.

  TOKEN=$(${token} |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'); echo $TOKEN

  2. A gateway asks whether a request with that token may pass to the store suite: 200, it may.

  curl -i ${address}${VERIFY_PATH}/store -H "Authorization: Bearer $TOKEN"

  3. Without a token: 401.

  curl -i ${address}${VERIFY_PATH}/store

  4. With something that is no token: 401.

  curl -i ${address}${VERIFY_PATH}/store -H 'Authorization: Bearer nonsense'

`
}
