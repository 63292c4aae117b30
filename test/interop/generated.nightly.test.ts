import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAdminWorld } from '../support/admin.ts'
import { needs } from '../support/needs.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const skip = ['python3', 'java'].map((tool) => needs(tool)).find(Boolean) || false

/** What generates a client into a folder, from the package of openapi-generator on PyPI, and the program that uses it. */
const PYTHON = {
  file: 'main.py',
  run: 'bin/pip install --quiet ./public ./admin >&2 && bin/python main.py',
  program: `
import os
from admin_api import ApiClient, ApplicationsApi, Configuration, Registration, RegistrationSuites, SuiteRegistration, SuitesApi
import public_api

admin = ApiClient(Configuration(host=os.environ["ADMIN"], access_token=os.environ["ADMIN_KEY"]))
suite = SuitesApi(admin).register_suite(SuiteRegistration(id="store", name="Store API"))
applications = ApplicationsApi(admin)
for name in ["One", "Two", "Three"]:
    suites = RegistrationSuites(["store"])
    application = applications.register_application(Registration(name=name, developer_email="a@b.example", suites=suites))

page = applications.list_applications(limit=2)
while True:
    print(*[application.name for application in page.applications])
    if page.next is None:
        break
    page = applications.list_applications(limit=2, after=page.next)

client = public_api.ApiClient(public_api.Configuration(host=os.environ["PUBLIC"]))
tokens = public_api.TokensApi(client)
answer = tokens.request_token("client_credentials", application.client_id, application.client_secret)
configuration = public_api.Configuration(host=os.environ["PUBLIC"], username=suite.id, password=suite.client_secret)
checks = public_api.ChecksApi(public_api.ApiClient(configuration))
print(checks.introspect_token(answer.access_token).active)
`,
}

/** Both listeners on one database, and what runs commands in a folder that has the generator. */
async function prepare(t: Test) {
  const { env } = temporaryDatabase(t)
  const admin = await createAdminWorld(t, env)
  const { app } = await createWorld(t, { databaseUrl: env.DATABASE_URL })
  const addresses = { ADMIN: await admin.listen(), PUBLIC: await app.listen({ port: 0, host: '127.0.0.1' }) }
  const cwd = temporaryFolder(t)
  const install = spawnSync('sh', ['-c', 'python3 -m venv . && bin/pip install --quiet openapi-generator-cli'], { cwd })
  t.equal(install.status, 0, String(install.stderr))
  const run = (command: string) =>
    runProgram('sh', ['-c', command], { cwd, env: { ...addresses, DOCS, ADMIN_KEY: admin.keys.admin } })
  return { cwd, run }
}

t.test(
  'Generated clients: one for Python registers, lists pages, gets a token and introspects it',
  { skip },
  async (t) => {
    const { cwd, run } = await prepare(t)
    for (const [name, file] of [
      ['public', 'openapi'],
      ['admin', 'openapi-admin'],
    ]) {
      const generated = await run(
        // It validates the description first.
        `bin/openapi-generator-cli generate -i $DOCS/${file}.yaml -g python -o ${name} --package-name ${name}_api`,
      )
      t.equal(generated.status, 0, generated.err)
    }
    writeFileSync(join(cwd, PYTHON.file), PYTHON.program)
    const { out, err, status } = await run(PYTHON.run)
    t.equal(status, 0, err)
    t.equal(out, 'Three Two\nOne Störe ✓\nTrue\n')
  },
)
