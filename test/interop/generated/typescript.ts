import { type Generator, openapiGenerator } from './generator.ts'

export const typescript: Generator = {
  ...openapiGenerator('typescript-fetch', '--additional-properties importFileExtension=.js'),
  file: 'main.ts',
  // Without NODE_OPTIONS, for the compiler does not start with tap's own hook.
  run: 'unset NODE_OPTIONS; $BIN/tsc main.ts >&2 && $BIN/node main.js',
  program: `
import { ApplicationsApi, Configuration, SecretsOfApplicationsApi, SuitesApi } from './admin_api/index.js'
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
const bySuite = { basePath: PUBLIC, username: suite.id, password: suite.clientSecret }
const checks = new public_api.ChecksApi(new public_api.Configuration(bySuite))
const grantType = public_api.RequestTokenGrantTypeEnum.ClientCredentials
const first = await tokens.requestToken({ grantType, clientId, clientSecret })
console.log((await checks.introspectToken({ token: first.accessToken })).active)

const secrets = new SecretsOfApplicationsApi(admin)
const rotated = await secrets.rotateApplicationSecret({ clientId, rotation: { overlapSeconds: 0 } })
const { accessToken: token } = await tokens.requestToken({ grantType, clientId, clientSecret: rotated.clientSecret })
console.log((await checks.introspectToken({ token })).active)

const { application, suite: none } = await applications.explainApplication({ clientId })
console.log(application?.name, none === null)
await applications.removeApplication({ clientId })
console.log((await checks.introspectToken({ token })).active)
`,
}
