import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { operationsOf, readDescription } from '../../reference/description.ts'
import { needs } from '../support/needs.ts'
import { createDescribedWorld, EXAMPLES } from '../support/openapi/world.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Before tap ends this file, so that nothing is left. It takes 10 seconds on two cores. */
const TIMEOUT_MS = 100_000
const DESCRIPTION = join(import.meta.dirname, '../../docs/openapi.yaml')

const skip = needs('schemathesis')

t.test('OpenAPI: schemathesis finds nothing that is not as it is described', { skip }, async (t) => {
  const { ask, address } = await createDescribedWorld(t, { failureLimit: false })
  const { clientId, clientSecret, suite, suiteSecret } = EXAMPLES
  // Another token than the one of the examples, which the example of revocation revokes.
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const headers = { Host: 'a', 'Content-Type': 'application/x-www-form-urlencoded' }
  const target = '/v1/oauth/accesstoken'
  const { body } = await ask({ method: 'POST', target, headers, body: new URLSearchParams(form).toString() })

  const config = join(import.meta.dirname, 'schemathesis.toml')
  // Makes its requests deterministic, whatever the speed of the machine.
  const bounds = ['--max-examples', '10', '--seed', '1', '--suppress-health-check', 'too_slow']
  const run = spawn(
    'schemathesis',
    ['--config-file', config, 'run', DESCRIPTION, '--url', address, ...bounds, '--warnings', 'off', '--no-color'],
    {
      // It stores its findings in the working directory.
      cwd: temporaryFolder(t),
      env: {
        ...process.env,
        FORCE_COLOR: undefined,
        BEARER: JSON.parse(body).access_token,
        SUITE: suite,
        SUITE_SECRET: suiteSecret,
      },
      timeout: TIMEOUT_MS,
    },
  )
  const [output, errors, [status]] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')])
  const [, found = errors || 'nothing was found'] = output.split('= FAILURES =')
  t.equal(status, 0, found)
  const tested = /Tested: (\d+)/.exec(output)?.[1]
  t.equal(Number(tested), operationsOf(readDescription(DESCRIPTION)).length, 'every operation')
})
