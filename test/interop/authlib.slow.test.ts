import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import t from 'tap'
import { needs } from '../support/needs.ts'
import { activeAnswer, createSuite, METHODS, type Method } from '../support/resource-server.ts'

/** Not Python's first on the path: Authlib is a package of the system's. */
const PYTHON = '/usr/bin/python3'

const authlib = spawnSync(PYTHON, ['-c', 'import authlib.integrations.requests_client'])
const skip = needs("Python's Authlib", authlib.status === 0)

t.test('RFC 7662: Authlib takes a valid token and no other, and learns of a wrong secret', { skip }, async (t) => {
  const world = await createSuite(t)
  const { suite, url, token, revoke } = world
  async function ask(method: Method, client_secret = suite.clientSecret) {
    const child = spawn(PYTHON, [join(import.meta.dirname, 'introspect_with_authlib.py')])
    child.stdin.end(JSON.stringify({ url, client_id: suite.suiteId, client_secret, method, token }))
    const [answer, errors, [status]] = await Promise.all([
      json(child.stdout).catch(() => undefined),
      text(child.stderr),
      once(child, 'exit'),
    ])
    t.equal(status, 0, errors)
    return answer
  }
  for (const method of METHODS) t.strictSame(await ask(method), { status: 200, body: activeAnswer(world), taken: true })
  await revoke()
  for (const method of METHODS) {
    t.strictSame(await ask(method), { status: 200, body: { active: false }, taken: false }, method)
    t.match(await ask(method, 'wrong'), { status: 401, body: { error: 'invalid_client' }, taken: false }, method)
  }
})
