import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAdminWorld } from '../support/admin.ts'
import { needs } from '../support/needs.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

const ROOT = join(import.meta.dirname, '../..')
const DESCRIPTIONS = { public_api: 'docs/openapi.yaml', admin_api: 'docs/openapi-admin.yaml' }

interface Client {
  /** The generator, and its options. */
  generator: string
  /** The name of the program's file, and what it consists of. */
  file: string
  program: string
  /** Builds the program with both clients and runs it, in its folder. */
  run: string
  /** The programs that it takes besides those of the generator. */
  tools?: string[]
}

const CLIENTS: Record<string, Client> = {
  Python: {
    generator: 'python',
    file: 'main.py',
    run: 'bin/pip install --quiet ./public_api ./admin_api >&2 && bin/python main.py',
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
  },
  TypeScript: {
    generator: 'typescript-fetch --additional-properties importFileExtension=.js',
    file: 'main.ts',
    run: '$BIN/tsc main.ts >&2 && $BIN/node main.js',
    program: `
import { ApplicationsApi, Configuration, SuitesApi } from './admin_api/index.js'
import * as public_api from './public_api/index.js'
declare const process: { env: Record<'ADMIN' | 'ADMIN_KEY' | 'PUBLIC', string> }
const { ADMIN, ADMIN_KEY, PUBLIC } = process.env

const admin = new Configuration({ basePath: ADMIN, accessToken: ADMIN_KEY })
const suite = await new SuitesApi(admin).registerSuite({ suiteRegistration: { id: 'store', name: 'Store API' } })
const applications = new ApplicationsApi(admin)
const register = (name: string) =>
  applications.registerApplication({ registration: { name, developerEmail: 'a@b.example', suites: ['store'] } })
await register('One')
await register('Two')
const { clientId, clientSecret } = await register('Three')

let page = await applications.listApplications({ limit: 2 })
for (;;) {
  console.log(...page.applications.map(({ name }) => name))
  if (page.next === null) break
  page = await applications.listApplications({ limit: 2, after: page.next })
}

const tokens = new public_api.TokensApi(new public_api.Configuration({ basePath: PUBLIC }))
const grantType = public_api.RequestTokenGrantTypeEnum.ClientCredentials
const { accessToken } = await tokens.requestToken({ grantType, clientId, clientSecret })
const bySuite = { basePath: PUBLIC, username: suite.id, password: suite.clientSecret }
const checks = new public_api.ChecksApi(new public_api.Configuration(bySuite))
console.log((await checks.introspectToken({ token: accessToken })).active)
`,
  },
  Go: {
    generator: 'go --additional-properties withGoMod=false',
    file: 'main.go',
    tools: ['go'],
    run: 'go mod init clients >&2 && go run .',
    program: `package main
import ("clients/admin_api"; "clients/public_api"; "context"; "fmt"; "net/http"; "os")

func must[T any](answer T, _ *http.Response, err error) T {
  if err != nil { panic(err) }
  return answer
}

func main() {
  configuration := admin_api.NewConfiguration()
  configuration.Servers[0].URL = os.Getenv("ADMIN")
  admin := admin_api.NewAPIClient(configuration)
  operator := context.WithValue(context.Background(), admin_api.ContextAccessToken, os.Getenv("ADMIN_KEY"))
  store := *admin_api.NewSuiteRegistration("store", "Store API")
  suite := must(admin.SuitesAPI.RegisterSuite(operator).SuiteRegistration(store).Execute())
  var application *admin_api.RegisteredApplication
  for _, name := range []string{"One", "Two", "Three"} {
    registration := admin_api.NewRegistration(name, "a@b.example")
    registration.SetSuites(admin_api.RegistrationSuites{ArrayOfString: &[]string{"store"}})
    application = must(admin.ApplicationsAPI.RegisterApplication(operator).Registration(*registration).Execute())
  }

  list := admin.ApplicationsAPI.ListApplications(operator).Limit(2)
  for {
    page := must(list.Execute())
    names := []any{}
    for _, application := range page.Applications { names = append(names, application.Name) }
    fmt.Println(names...)
    next := page.Next.Get()
    if next == nil { break }
    list = list.After(*next)
  }

  public := public_api.NewConfiguration()
  public.Servers[0].URL = os.Getenv("PUBLIC")
  client := public_api.NewAPIClient(public)
  request := client.TokensAPI.RequestToken(context.Background()).GrantType("client_credentials")
  token := must(request.ClientId(application.ClientId).ClientSecret(application.ClientSecret).Execute())
  basic := public_api.BasicAuth{UserName: suite.Id, Password: suite.ClientSecret}
  bySuite := context.WithValue(context.Background(), public_api.ContextBasicAuth, basic)
  fmt.Println(must(client.ChecksAPI.IntrospectToken(bySuite).Token(token.AccessToken).Execute()).Active)
}
`,
  },
}

/** Installs the generator from its package on PyPI into a folder. Returns the folder and what runs commands there. */
async function installGenerator(t: Test) {
  const cwd = temporaryFolder(t)
  const run = async (command: string, env = {}) => {
    const { out, err, status } = await runProgram('sh', ['-c', command], { cwd, env })
    t.equal(status, 0, `${out}${err}`)
    return out
  }
  await run('python3 -m venv . && bin/pip install --quiet openapi-generator-cli')
  return { cwd, run }
}

/** What is missing: the generator is written in Java. */
const missing = (...tools: string[]) => ['python3', 'java', ...tools].map((tool) => needs(tool)).find(Boolean) || false

t.test('Generated clients: both descriptions are valid', { skip: missing() }, async (t) => {
  const { run } = await installGenerator(t)
  for (const description of Object.values(DESCRIPTIONS)) {
    const out = await run(`bin/openapi-generator-cli validate --recommend -i ${join(ROOT, description)}`)
    t.match(out, 'No validation issues detected.')
  }
})

for (const [language, { generator, file, program, run, tools = [] }] of Object.entries(CLIENTS)) {
  const name = `Generated clients: one for ${language} registers, lists pages, gets a token and introspects it`
  t.test(name, { skip: missing(...tools) }, async (t) => {
    const folder = await installGenerator(t)
    for (const [name, description] of Object.entries(DESCRIPTIONS)) {
      const input = `-i ${join(ROOT, description)} -o ${name} --package-name ${name}`
      await folder.run(`bin/openapi-generator-cli generate ${input} -g ${generator}`)
    }
    writeFileSync(join(folder.cwd, file), program)

    const { env } = temporaryDatabase(t)
    const admin = await createAdminWorld(t, env)
    const { app } = await createWorld(t, { databaseUrl: env.DATABASE_URL })
    const out = await folder.run(run, {
      BIN: join(ROOT, 'node_modules/.bin'),
      ADMIN: await admin.listen(),
      ADMIN_KEY: admin.keys.admin,
      PUBLIC: await app.listen({ port: 0, host: '127.0.0.1' }),
    })
    t.match(out, /^Three Two\nOne Störe ✓\nTrue\n$/i)
  })
}
