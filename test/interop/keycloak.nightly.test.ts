import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createIdentityProvider } from '../../src/administration/identity-provider.ts'
import { cookieOf, createConsoleWorld } from '../support/console-world.ts'
import { PASSWORD, startKeycloak } from '../support/keycloak.ts'
import { needs } from '../support/needs.ts'
import { CLIENT } from '../support/provider.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const CALLBACK = 'https://console.example/login/callback'
const HOST = { host: 'console.example' }

/** The client and the mapper that docs/console.md describes, and anna, who is in the group platform. */
const REALM = {
  realm: 'company',
  enabled: true,
  sslRequired: 'none',
  groups: [{ name: 'platform' }],
  clients: [
    {
      clientId: CLIENT.id,
      secret: CLIENT.secret,
      redirectUris: [CALLBACK],
      protocolMappers: [
        {
          ...{ name: 'groups', protocol: 'openid-connect', protocolMapper: 'oidc-group-membership-mapper' },
          config: { 'claim.name': 'groups', 'full.path': 'false', 'id.token.claim': 'true' },
        },
      ],
    },
  ],
  users: [
    {
      ...{ username: 'anna', enabled: true, email: 'anna@company.example', emailVerified: true },
      ...{ firstName: 'Anna', lastName: 'A', groups: ['/platform'] },
      credentials: [{ type: 'password', value: PASSWORD }],
    },
  ],
}

/** Keycloak with this realm. */
async function startCompany(t: Test) {
  const { port } = await startKeycloak(t, REALM)
  const address = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${address}/realms/company`).catch(() => undefined))?.ok === true, 400_000)

  /** Takes anna out of her group, as an administrator of Keycloak does. */
  async function removeFromGroup(): Promise<void> {
    const body = new URLSearchParams({
      ...{ grant_type: 'password', client_id: 'admin-cli', username: 'boss', password: PASSWORD },
    })
    const token = await fetch(`${address}/realms/master/protocol/openid-connect/token`, { method: 'POST', body })
    const { access_token } = (await token.json()) as { access_token: string }
    const headers = { authorization: `Bearer ${access_token}` }
    const users = `${address}/admin/realms/company/users`
    const first = async (url: string) => ((await (await fetch(url, { headers })).json()) as { id: string }[])[0]?.id
    const user = await first(`${users}?username=anna`)
    const group = await first(`${users}/${user}/groups`)
    await fetch(`${users}/${user}/groups/${group}`, { method: 'DELETE', headers })
  }

  return { issuer: `${address}/realms/company`, removeFromGroup }
}

/** Fills in the login form of Keycloak. Resolves to the query of the callback. */
async function signInAt(url: string): Promise<string> {
  const page = await fetch(url)
  const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(await page.text()) ?? []
  const cookies = page.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  const answer = await fetch(action.replaceAll('&amp;', '&'), {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookies.join('; ') },
    body: new URLSearchParams({ username: 'anna', password: PASSWORD }),
  })
  return new URL(answer.headers.get('location') ?? '').search
}

const skip = needs('java') || needs('mvn')

t.test(
  'Keycloak: an operator signs in, and is refused after leaving the group',
  { skip, timeout: 600_000 },
  async (t) => {
    const { issuer, removeFromGroup } = await startCompany(t)
    const secretFile = join(temporaryFolder(t), 'secret')
    writeFileSync(secretFile, CLIENT.secret)
    const rules = { admin: { claim: 'groups', values: ['platform'] }, viewer: undefined }
    const settings = { issuer, clientId: CLIENT.id, secretFile, rules, callbackUrl: CALLBACK }
    const provider = createIdentityProvider(settings, Date.now)
    const { visit, administration } = await createConsoleWorld(t, { adminUrl: new URL(CALLBACK).origin, provider })
    const operators = async () =>
      (await administration.operators.list()).map(({ email, role }) => [email, role]).slice(2)

    async function signIn() {
      const begun = await visit('/login/provider', { headers: HOST })
      const query = await signInAt(begun.headers.location as string)
      return visit(`/login/complete${query}`, { headers: { ...HOST, cookie: cookieOf(begun) } })
    }

    t.match(await signIn(), { statusCode: 303, headers: { location: '/signed-in' } })
    t.strictSame(await operators(), [['anna@company.example', 'admin']])
    await removeFromGroup()
    const refused = await signIn()
    t.equal(refused.statusCode, 403)
    t.match(refused.body, /as <bdi>anna@company\.example \(\S+\)<\/bdi>, but this account has no role here/)
    t.strictSame(await operators(), [])
  },
)
