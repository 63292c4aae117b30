import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { operationsOf } from '../../reference/description.ts'
import { needs } from '../support/needs.ts'
import { createDescribedAdmin } from '../support/openapi/admin-world.ts'
import { ADMIN_DESCRIPTION } from '../support/openapi/undescribed.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const TIMEOUT_MS = 200_000
const DESCRIPTION = join(import.meta.dirname, '../../docs/openapi-admin.yaml')

const skip = needs('schemathesis')

t.test(
  'OpenAPI: schemathesis finds no difference between the administration API and its description',
  { skip },
  async (t) => {
    const { address, keys } = await createDescribedAdmin(t)
    const config = join(import.meta.dirname, 'schemathesis-admin.toml')
    // Makes its requests deterministic, whatever the speed of the machine.
    const bounds = ['--max-examples', '10', '--seed', '1', '--suppress-health-check', 'too_slow']
    const run = spawn(
      'schemathesis',
      ['--config-file', config, 'run', DESCRIPTION, '--url', address, ...bounds, '--warnings', 'off', '--no-color'],
      {
        // It stores its findings in the working directory.
        cwd: temporaryFolder(t),
        env: { ...process.env, FORCE_COLOR: undefined, ADMIN_KEY: keys.admin },
        timeout: TIMEOUT_MS,
      },
    )
    const [output, errors, [status]] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')])
    const [, found = errors || 'nothing was found'] = output.split('= FAILURES =')
    t.equal(status, 0, found)
    const tested = /Tested: (\d+)/.exec(output)?.[1]
    t.equal(Number(tested), operationsOf(ADMIN_DESCRIPTION).length, 'every operation')
  },
)
