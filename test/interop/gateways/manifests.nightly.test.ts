import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type SchemaObject } from 'ajv'
import t, { type Test } from 'tap'
import { parseAllDocuments, stringify } from 'yaml'
import { EXAMPLES, readExample } from '../../support/gateways.ts'
import { needs } from '../../support/needs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Go modules that have the schemas of what the examples say. */
const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.6.1'
const ENVOY_GATEWAY = 'github.com/envoyproxy/gateway@v1.9.1'
const ISTIO = 'istio.io/api@v1.32.0'

const GO = { skip: needs('go') }

const yamlIn = (text: string) => parseAllDocuments(text).map((document) => document.toJS())

/** The folder of a Go module. */
const folderOf = (module: string): string => JSON.parse(go('mod', 'download', '-json', module)).Dir

function go(...args: string[]): string {
  return execFileSync('go', args, { encoding: 'utf8', cwd: import.meta.dirname, env: { ...process.env, GOFLAGS: '' } })
}

/** Checks every object of an example with the definitions of its kind, which allow no other field. */
function fits(t: Test, objects: Manifest[], files: string[]): void {
  const definitions = files.flatMap((file) => yamlIn(readFileSync(file, 'utf8'))) as Definition[]
  const ajv = new Ajv({ strict: false, validateFormats: false })
  for (const { apiVersion, kind, metadata, ...rest } of objects) {
    const [group, version] = apiVersion.split('/')
    const definition = definitions.find(({ spec }) => spec?.group === group && spec?.names.kind === kind)
    const schema = definition?.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema
    if (!schema) throw new Error(`No schema of ${apiVersion} ${kind}`)
    const { spec } = schema.properties
    const validate = ajv.compile(closed(spec))
    t.ok(validate(rest.spec), `${kind} ${metadata.name}: ${JSON.stringify(validate.errors)}`)
    t.notOk(validate({ ...rest.spec, misspelt: 1 }), `${kind}: another field is refused`)
  }
}

/** The schema, with no fields but those that it names, as an API server with strict validation has it. */
function closed(schema: SchemaObject): SchemaObject {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(closed)
  const { properties, items, additionalProperties, ...rest } = schema
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, closed(one as SchemaObject)]),
      ),
      additionalProperties: false,
    }),
    ...(items && { items: closed(items) }),
    ...(additionalProperties && { additionalProperties }),
  }
}

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: object
}

interface Definition {
  spec: {
    group: string
    names: { kind: string }
    versions: { name: string; schema: { openAPIV3Schema: { properties: { spec: SchemaObject } } } }[]
  }
}

t.test('Envoy Gateway: the objects of its example fit the schemas', GO, async (t) => {
  const crds = [
    ...globSync(join(folderOf(GATEWAY_API), 'config/crd/standard/*.yaml')),
    ...globSync(join(folderOf(ENVOY_GATEWAY), 'charts/gateway-helm/charts/crds/crds/generated/*.yaml')),
  ]
  const objects = yamlIn(readExample('envoy-gateway/gateway.yaml'))
  t.equal(objects.length, 5)
  fits(t, objects, crds)
})

t.test(
  'ingress-nginx: the object of its example fits the schema',
  { skip: needs('kubernetes-validate') },
  async (t) => {
    const example = join(EXAMPLES, 'ingress-nginx/ingress.yaml')
    const { status, stdout, stderr } = spawnSync('kubernetes-validate', ['--strict', '-k', '1.37', example])
    t.equal(status, 0, `${stdout}${stderr}`)
  },
)

t.test('Istio: the objects of its example fit the schemas', GO, async (t) => {
  const objects = yamlIn(readExample('istio/policy.yaml'))
  t.equal(objects.length, 2)
  fits(t, objects, [join(folderOf(ISTIO), 'kubernetes/customresourcedefinitions.gen.yaml')])
})

t.test('Istio: its MeshConfig accepts the provider of the example, and no other field', GO, async (t) => {
  const cwd = temporaryFolder(t)
  const program = `package main
    import ("io"; "os"; mesh "istio.io/api/mesh/v1alpha1"; "google.golang.org/protobuf/encoding/protojson")
    func main() {
      text, _ := io.ReadAll(os.Stdin)
      if err := protojson.Unmarshal(text, &mesh.MeshConfig{}); err != nil { println(err.Error()); os.Exit(1) }
    }`
  writeFileSync(join(cwd, 'main.go'), program)
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  for (const args of [
    ['mod', 'init', 'example'],
    ['get', ISTIO],
    ['build', '-o', 'check', '.'],
  ]) {
    execFileSync('go', args, { cwd, env, stdio: 'pipe' })
  }
  const check = (config: unknown) => spawnSync(join(cwd, 'check'), { input: JSON.stringify(config), encoding: 'utf8' })
  const [config] = yamlIn(readExample('istio/mesh.yaml'))
  t.match(check(config), { status: 0 }, stringify(config))
  config.extensionProviders[0].envoyExtAuthzHttp.pathPrefex = '/'
  t.match(check(config), { status: 1, stderr: /pathPrefex/ })
})
