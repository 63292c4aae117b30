import { join } from 'node:path'
import t, { type Test } from 'tap'
import { operationsOf, readDescription } from '../../lab/reference/description.ts'
import { needs } from '../support/needs.ts'
import { createDescribedAdmin } from '../support/openapi/admin-world.ts'
import { createDescribedWorld, EXAMPLES } from '../support/openapi/world.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const TIMEOUT_MS = 300_000

const skip = needs('schemathesis')

/** Compares every operation of a description with the server at an address. */
async function compare(t: Test, name: string, config: string, address: string, env: NodeJS.ProcessEnv) {
  const description = join(import.meta.dirname, '../../docs', name)
  const configFile = ['--config-file', join(import.meta.dirname, config)]
  // Makes its requests deterministic, whatever the speed of the machine.
  const bounds = ['--max-examples', '10', '--seed', '1', '--suppress-health-check', 'too_slow']
  const options = ['--url', address, ...bounds, '--warnings', 'off', '--no-color']
  const { status, out, err } = await runProgram('schemathesis', [...configFile, 'run', description, ...options], {
    // It stores its findings in the working directory.
    cwd: temporaryFolder(t),
    env: { FORCE_COLOR: undefined, ...env },
    timeout: TIMEOUT_MS,
  })
  const [, found = err || 'nothing was found'] = out.split('= FAILURES =')
  t.equal(status, 0, found)
  const tested = /Tested: (\d+)/.exec(out)?.[1]
  t.equal(Number(tested), operationsOf(readDescription(description)).length, 'every operation')
}

t.test('OpenAPI: schemathesis finds nothing that is not as it is described', { skip }, async (t) => {
  const { ask, address } = await createDescribedWorld(t, { failureLimit: false })
  const { clientId, clientSecret, suite, suiteSecret } = EXAMPLES
  // Another token than the one of the examples, which the example of revocation revokes.
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const headers = { Host: 'a', 'Content-Type': 'application/x-www-form-urlencoded' }
  const target = '/v1/oauth/accesstoken'
  const { body } = await ask({ method: 'POST', target, headers, body: new URLSearchParams(form).toString() })
  const env = { BEARER: JSON.parse(body).access_token, SUITE: suite, SUITE_SECRET: suiteSecret }
  await compare(t, 'openapi.yaml', 'schemathesis.toml', address, env)
})

t.test('OpenAPI: schemathesis finds the administration API as it is described', { skip }, async (t) => {
  const { address, keys } = await createDescribedAdmin(t)
  await compare(t, 'openapi-admin.yaml', 'schemathesis-admin.toml', address, { ADMIN_KEY: keys.admin })
})
