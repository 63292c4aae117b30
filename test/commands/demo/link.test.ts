import { Readable } from 'node:stream'
import t from 'tap'
import { createAdministration } from '../../../src/administration/administration.ts'
import { makeLink, printLinkOnEnter } from '../../../src/commands/demo/world.ts'
import { openStore } from '../../../src/store/open.ts'
import { AUDIT } from '../../support/audit.ts'

/** Types this input. Resolves to the output. */
async function typed(keys: string[], isTTY: boolean): Promise<string> {
  let out = ''
  let links = 0
  const output = { write: (text: string | Uint8Array) => (out += text) }
  const stdin = Object.assign(Readable.from(keys), { isTTY })
  await printLinkOnEnter({ env: {}, stdin, stdout: output, stderr: output }, async () => `link ${++links}`)
  return out
}

t.test('Demo: Enter prints a new link if stdin is a terminal', async (t) => {
  t.match(await typed(['\n', '\n'], true), /^Another link, .*\n\n {2}link 1\n\nAnother link, .*\n\n {2}link 2\n\n$/)
  t.equal(await typed(['\n'], false), '')
  t.equal(await typed([], true), '')
})

t.test('Demo: a link signs in the operator, also if the operator was removed in the console', async (t) => {
  const store = await openStore({ kind: 'sqlite', file: ':memory:' }, { lockTimeout: 0 })
  t.teardown(() => store.close())
  const administration = createAdministration({ store, now: Date.now, observe: () => {}, author: AUDIT.author })
  const { operators } = administration
  t.match(await makeLink(administration, 'http://console'), /^http:\/\/console\/login#\w{44}$/)
  await operators.remove('demo')
  t.match(await makeLink(administration, 'http://console'), /^http:\/\/console\/login#\w{44}$/)
  t.match(await operators.list(), [{ name: 'demo', role: 'admin' }])
})
