import { Readable } from 'node:stream'
import t from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import {
  createDemoWorld,
  explain,
  makeLink,
  makeTraffic,
  printLinkOnEnter,
  signInHint,
} from '../../src/commands/demo/world.ts'
import { commandAuthor } from '../../src/commands/shared/administer.ts'
import type { Store } from '../../src/domain/store.ts'
import { createWorld } from '../support/world.ts'

const administrationOf = (store: Store, now = Date.now) =>
  createAdministration({ store, now, observe: () => {}, author: commandAuthor() })

t.test('Demo: Enter prints a new link, and is named, only if stdin is a terminal', async (t) => {
  const explainOn = (isTTY: boolean) =>
    explain('http://localhost:8080', 'http://link', { clientId: 'an-id', clientSecret: 'a-secret' }, { isTTY })
  t.match(explainOn(true), 'Press Enter for another link.')
  t.notMatch(explainOn(false), 'Enter')
  t.match(signInHint({ isTTY: true }), 'Press Enter')
  t.notMatch(signInHint({}), 'Enter')
  /** Types this input. Resolves to the output. */
  async function typed(keys: string[], isTTY: boolean): Promise<string> {
    let out = ''
    let links = 0
    const output = { write: (text: string | Uint8Array) => (out += text) }
    const stdin = Object.assign(Readable.from(keys), { isTTY })
    await printLinkOnEnter({ env: {}, stdin, stdout: output, stderr: output }, async () => `link ${++links}`)
    return out
  }
  t.match(await typed(['\n', '\n'], true), /^Another link, .*\n\n {2}link 1\n\nAnother link, .*\n\n {2}link 2\n\n$/)
  t.equal(await typed(['\n'], false), '')
  t.equal(await typed([], true), '')
})

t.test('Demo: a link signs in the operator, also if the operator was removed in the console', async (t) => {
  const { store } = await createWorld(t)
  const administration = administrationOf(store)
  const { operators } = administration
  t.match(await makeLink(administration, 'http://console'), /^http:\/\/console\/login#\w{44}$/)
  await operators.remove('demo')
  t.match(await makeLink(administration, 'http://console'), /^http:\/\/console\/login#\w{44}$/)
  t.match(await operators.list(), [{ name: 'demo', role: 'admin' }])
})

t.test('Demo: each kind of traffic gets its answer, and a change of a partner changes it', async (t) => {
  const { app, store, lines } = await createWorld(t)
  const administration = administrationOf(store)
  const { application, partners } = await createDemoWorld(administration)
  const suspended = partners.busy[0]?.clientId as string
  await administration.applications.suspend(suspended)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  let requests = 0
  await makeTraffic(address, partners, async () => {
    // More than enough for every partner to send a request.
    if (++requests > 40) await app.close()
  })
  const events = lines.map((line) => JSON.parse(line))
  const of = (clientId: string, message?: string) =>
    events.filter(({ msg, client_id }) => client_id === clientId && (message === undefined || msg === message))
  for (const { clientId } of partners.busy.slice(1)) {
    t.ok(of(clientId, 'token issued').length > 0)
    t.strictSame(of(clientId, 'token refused'), [])
  }
  t.ok(of(suspended).length > 0)
  t.ok(of(suspended).every(({ reason }) => reason === 'suspended application'))
  const { notApproved, wrongSecret } = partners
  t.match(of(notApproved.clientId, 'token refused'), [{ reason: 'application not approved' }])
  t.match(of(partners.suspended.clientId, 'authentication refused'), [{ reason: 'suspended application' }])
  t.match(of(wrongSecret.clientId, 'authentication refused'), [{ reason: 'wrong secret' }])
  t.equal(of(wrongSecret.clientId, 'token issued').length, 1, 'it had the right secret before')
  t.ok(events.some(({ reason }) => reason === 'malformed token'))
  t.strictSame(of(application.clientId), [], "the newcomer's application is left alone")
})

t.test('Demo: a partner with a wrong secret finds its mistake once the secret is rotated', async (t) => {
  const { app, store, lines, clock } = await createWorld(t)
  const administration = administrationOf(store, () => clock.time)
  const { partners } = await createDemoWorld(administration)
  await administration.secrets.rotate(partners.wrongSecret.clientId, 60_000)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  let requests = 0
  await makeTraffic(address, partners, async () => {
    if (++requests > 20) await app.close()
  })
  const events = lines.map((line) => JSON.parse(line))
  const own = events.filter(({ client_id }) => client_id === partners.wrongSecret.clientId)
  t.strictSame(new Set(own.map(({ msg }) => msg)), new Set(['token issued']))
})
