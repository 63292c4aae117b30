import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { needs } from '../support/needs.ts'
import { activeAnswer, createSuite, METHODS, type Method } from '../support/resource-server.ts'
import { runProgram } from '../support/run-program.ts'

/** Not Python's first on the path: Authlib is a package of the system's. */
const PYTHON = '/usr/bin/python3'

const authlib = spawnSync(PYTHON, ['-c', 'import authlib.integrations.requests_client'])
const skip = needs("Python's Authlib", authlib.status === 0)

t.test('RFC 7662: Authlib takes a valid token and no other, and learns of a wrong secret', { skip }, async (t) => {
  const world = await createSuite(t)
  const { suite, url, token, revoke } = world
  async function ask(method: Method, client_secret = suite.clientSecret) {
    const input = JSON.stringify({ url, client_id: suite.suiteId, client_secret, method, token })
    const { out, err } = await runProgram(PYTHON, [join(import.meta.dirname, 'introspect_with_authlib.py')], { input })
    t.equal(err, '')
    return JSON.parse(out)
  }
  for (const method of METHODS) t.strictSame(await ask(method), { status: 200, body: activeAnswer(world), taken: true })
  await revoke()
  for (const method of METHODS) {
    t.strictSame(await ask(method), { status: 200, body: { active: false }, taken: false }, method)
    t.match(await ask(method, 'wrong'), { status: 401, body: { error: 'invalid_client' }, taken: false }, method)
  }
})
