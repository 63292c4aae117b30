import { Readable } from 'node:stream'
import t from 'tap'
import { printLinkOnEnter } from '../../../src/commands/demo/link.ts'

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
