import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from '../repository/files.ts'
import { freePort } from '../support/free-port.ts'
import { needs } from '../support/needs.ts'
import { shell } from '../support/shell.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const PROVIDER = 'terraform-provider-restapi'

const EXAMPLE = join(ROOT, 'examples/terraform/main.tf')

/** A server, and Terraform in a folder with the example and the provider that is installed here. */
async function setting(t: Test) {
  const { folder, env } = temporaryDatabase(t)
  const port = await freePort()
  const { run, json } = shell(env)
  await startServer(t, { ...env, ADMIN_ADDRESS: `127.0.0.1:${port}` })
  await run('operators add terraform --role admin')
  const { admin_key } = await json('operators key terraform --expires 1d')
  const providers = join(folder, 'providers')
  mkdirSync(providers)
  const installed = String(process.env.PATH).split(delimiter)
  const found = installed.map((one) => join(one, PROVIDER)).find((file) => spawnSync('test', ['-x', file]).status === 0)
  symlinkSync(String(found), join(providers, PROVIDER))
  const settings = join(folder, 'terraformrc')
  writeFileSync(
    settings,
    `provider_installation {\n dev_overrides { "Mastercard/restapi" = "${providers}" }\n direct {}\n}\n`,
  )
  const main = join(folder, 'main.tf')
  copyFileSync(EXAMPLE, main)
  const terraform = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('terraform', [`-chdir=${folder}`, ...args], {
      encoding: 'utf8',
      timeout: 120_000,
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: settings },
        ...{ TF_VAR_admin_url: `http://127.0.0.1:${port}`, TF_VAR_admin_key: admin_key },
      },
    })
    return { status, said: stdout + stderr }
  }
  return { run, json, terraform, main, state: () => readFileSync(join(folder, 'terraform.tfstate'), 'utf8') }
}

t.test('Terraform: the example is formatted', { skip: needs('terraform') }, async (t) => {
  const { status, stdout } = spawnSync('terraform', ['fmt', '-check', '-diff', EXAMPLE], { encoding: 'utf8' })
  t.strictSame([status, stdout], [0, ''])
})

const skip = needs('terraform') || needs(PROVIDER)

t.test(
  'Terraform: the example registers, finds what is changed by hand, undoes it, and removes',
  { skip },
  async (t) => {
    const { run, json, terraform, main, state } = await setting(t)
    const apply = () => terraform('apply', '-auto-approve', '-no-color', '-parallelism=1')
    const plan = () => terraform('plan', '-detailed-exitcode', '-no-color')
    t.match(terraform('validate', '-no-color'), { status: 0 })
    t.match(await apply(), { status: 0, said: 'Resources: 4 added, 0 changed, 0 destroyed.' })
    t.match(plan(), { status: 0 })
    const secrets = JSON.parse(terraform('output', '-json', 'client_secrets').said.replace(/^[^{]*(?=\{")/s, ''))
    t.match(secrets, { warehouse: /^\w{40}$/, 'night-reports': /^\w{40}$/ })
    t.match(state(), secrets.warehouse, 'as the page says first')
    const registered = await json('applications list')
    t.match(registered, [{ managed_by: 'terraform' }, { managed_by: 'terraform' }])

    for (const command of [
      'suspend warehouse',
      'update night-reports --quota 5',
      'withdraw night-reports --suite orders',
    ])
      t.match(await run(`applications ${command}`), { status: 0, err: 'managed by terraform' })
    await run('suites update orders --note hand')
    t.match(plan(), { status: 2, said: 'Plan: 0 to add, 3 to change, 0 to destroy.' })
    t.match(await apply(), { status: 0, said: 'Resources: 0 added, 3 changed, 0 destroyed.' })
    t.match(plan(), { status: 0 })
    t.match(await json('applications show warehouse'), { status: 'active' })

    writeFileSync(main, readFileSync(main, 'utf8').replace('"Warehouse"', '"Depot"'))
    t.match(await apply(), { status: 0, said: 'Resources: 0 added, 1 changed, 0 destroyed.' })
    t.match(await json('applications show warehouse'), { name: 'Depot' })
    t.match(terraform('destroy', '-auto-approve', '-no-color'), { status: 0, said: 'Resources: 4 destroyed.' })
    t.strictSame([await json('applications list'), await json('suites list')], [[], []])
  },
)
