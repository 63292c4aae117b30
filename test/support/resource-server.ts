import type { Test } from 'tap'
import { createWorld, PUBLIC_URL, START } from './world.ts'

/** How a suite may authenticate. */
export const METHODS = ['client_secret_basic', 'client_secret_post'] as const
export type Method = (typeof METHODS)[number]

/** A listening server, a suite that asks it, and the token of an application that is approved for the suite. */
export async function createSuite(t: Test) {
  const world = await createWorld(t)
  const address = await world.app.listen({ port: 0, host: '127.0.0.1' })
  // A hyphen is what some clients percent-encode in HTTP Basic (RFC 6749 §2.3.1) and others do not.
  const suite = await world.administration.registerSuite({ suiteId: 'product-information', name: 'Products' })
  await world.administration.approve(world.credentials.client_id, suite.suiteId)
  const token = await world.token()
  const { client_id, client_secret } = world.credentials
  const revoke = () => world.post({ client_id, client_secret, token }, {}, '/v1/oauth/revoke')
  return { ...world, address, url: `${address}/v1/oauth/introspect`, suite, token, revoke }
}

export type Suite = Awaited<ReturnType<typeof createSuite>>

/** Everything that a suite is told of a valid token. */
export const activeAnswer = ({ credentials, suite, lines }: Suite) => ({
  active: true,
  client_id: credentials.client_id,
  sub: credentials.client_id,
  aud: suite.suiteId,
  iss: PUBLIC_URL,
  jti: lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'token issued').token_id,
  token_type: 'bearer',
  iat: START / 1000,
  exp: START / 1000 + 3600,
  application_name: 'Störe ✓',
  'developer.email': 'developer@partner.example',
})
