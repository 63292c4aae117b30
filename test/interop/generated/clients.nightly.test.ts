import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAdminWorld } from '../../support/admin.ts'
import { needs } from '../../support/needs.ts'
import { runProgram } from '../../support/run-program.ts'
import { temporaryDatabase } from '../../support/temporary-database.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { createWorld } from '../../support/world.ts'
import { type Generator, openapiGenerator } from './generator.ts'
import { go, oapiCodegen } from './go.ts'
import { java } from './java.ts'
import { python, pythonClient } from './python.ts'
import { typescript } from './typescript.ts'

const ROOT = join(import.meta.dirname, '../../..')
const DESCRIPTIONS = { public_api: 'docs/openapi.yaml', admin_api: 'docs/openapi-admin.yaml' }

const GENERATORS: Record<string, Generator> = {
  'openapi-generator for Java': java,
  'openapi-generator for Go': go,
  'oapi-codegen for Go': oapiCodegen,
  'openapi-generator for Python': python,
  'openapi-python-client': pythonClient,
  'openapi-generator for TypeScript': typescript,
}

/** Two pages; whether a token is active, and one by the rotated secret; an explanation, without a suite; the token after the removal. */
const EXPECTED = 'Three Two\nOne Störe ✓\ntrue\ntrue\nThree true\nfalse\n'

const missing = (tools: string[]) => tools.map((tool) => needs(tool)).find(Boolean) || false

/** Runs commands in a folder of the test's own. They return what they print; one that fails, fails the test. */
function createShell(t: Test) {
  const cwd = temporaryFolder(t)
  const run = async (command: string, env = {}) => {
    const { out, err, status } = await runProgram('sh', ['-ec', command], { cwd, env })
    if (status !== 0) throw new Error(`${command}\n${out}${err}`)
    return out
  }
  return { cwd, run }
}

const { tools, install } = openapiGenerator('java')
t.test('Generated clients: both descriptions are valid', { skip: missing(tools) }, async (t) => {
  const { run } = createShell(t)
  await run(install)
  for (const description of Object.values(DESCRIPTIONS)) {
    const out = await run(`bin/openapi-generator-cli validate --recommend -i ${join(ROOT, description)}`)
    t.match(out, 'No validation issues detected.')
  }
})

for (const [generator, { tools, install, generate, file, program, run }] of Object.entries(GENERATORS)) {
  const name = `Generated clients: ${generator} makes a client that registers, lists, rotates, removes, and checks a token`
  t.test(name, { skip: missing(tools) }, async (t) => {
    const shell = createShell(t)
    await shell.run(install)
    for (const [name, description] of Object.entries(DESCRIPTIONS)) {
      await shell.run(generate(join(ROOT, description), name))
    }
    writeFileSync(join(shell.cwd, file), program)

    const { env } = temporaryDatabase(t)
    const admin = await createAdminWorld(t, env)
    const { app } = await createWorld(t, { databaseUrl: env.DATABASE_URL })
    const out = await shell.run(run, {
      BIN: join(ROOT, 'node_modules/.bin'),
      ADMIN: await admin.listen(),
      ADMIN_KEY: admin.keys.admin,
      PUBLIC: await app.listen({ port: 0, host: '127.0.0.1' }),
    })
    const said = out.replace(/(True|False)$/gm, (word) => word.toLowerCase())
    t.equal(said, EXPECTED)
  })
}
