import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { readExample } from '../support/gateways.ts'
import { needs } from '../support/needs.ts'
import { startRecorder } from '../support/recorder.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorldOfSuites } from '../support/world.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'

/** A value as OTLP writes it in JSON. */
interface Value {
  stringValue?: string
  intValue?: string
}

interface Attribute {
  key: string
  value: Value
}

interface Sent {
  resourceLogs: { resource: { attributes: Attribute[] }; scopeLogs: { logRecords: LogRecord[] }[] }[]
}

interface LogRecord {
  timeUnixNano?: string
  severityText?: string
  traceId?: string
  body: Value
  attributes?: Attribute[]
}

const valuesOf = (attributes: Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

t.test(
  'OpenTelemetry: the collector sends each line with its time, level and trace',
  {
    skip: needs('otelcol'),
  },
  async (t) => {
    const world = await createWorldOfSuites(t)
    await world.token()
    await world.verify('x')
    const headers = { authorization: 'Bearer x', traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` }
    await world.app.inject({ url: '/v1/oauth/verify/store', headers })
    const lines = world.lines.map((line) => JSON.parse(line))
    t.equal(lines.length, 3)

    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'token-server.log'), `${world.lines.join('')}A line of Node.js\n`)
    const loki = await startRecorder(t, (response) => response.end())
    const config = readExample('opentelemetry/collector.yaml')
      .replace('/var/log/token-server', folder)
      .replace(
        'endpoint: http://127.0.0.1:3100/otlp',
        `endpoint: http://${loki.address}/otlp\n    encoding: json\n    compression: none`,
      )
      .replace('service:\n', 'service:\n  telemetry: { metrics: { level: none } }\n')
    writeFileSync(join(folder, 'collector.yaml'), config)
    const collector = spawn('otelcol', ['--config', join(folder, 'collector.yaml')], { stdio: 'ignore' })
    const exited = once(collector, 'exit')
    t.teardown(async () => {
      collector.kill()
      await exited
    })
    const sent = () => loki.arrived.map(({ body }) => JSON.parse(body || '{"resourceLogs":[]}') as Sent)
    const records = () =>
      sent().flatMap(({ resourceLogs }) =>
        resourceLogs.flatMap(({ resource, scopeLogs }) =>
          scopeLogs.flatMap(({ logRecords }) =>
            logRecords.map((record) => ({ ...record, resource: valuesOf(resource.attributes) })),
          ),
        ),
      )
    await until(() => records().length === 4)
    t.strictSame(loki.arrived[0]?.url, '/otlp/v1/logs')
    for (const [at, { time, level, msg, pid, hostname, trace_id, ...fields }] of lines.entries()) {
      const { resource, ...record } = records()[at] as ReturnType<typeof records>[number]
      t.match(record, { timeUnixNano: `${time}000000`, severityText: level, body: { stringValue: msg } })
      t.equal(record.traceId || undefined, trace_id)
      t.match(resource, { 'service.name': 'token-server', 'host.name': hostname, 'process.pid': String(pid) })
      const { 'log.file.name': _, ...attributes } = valuesOf(record.attributes)
      t.strictSame(attributes, Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)])))
    }
    t.equal(lines.at(-1)?.trace_id, TRACE_ID)
    t.match(records()[3], { body: { stringValue: 'A line of Node.js' } })
  },
)

t.test(
  'Elastic: Filebeat’s example moves fields of the log to names of the Elastic Common Schema',
  { skip: needs('npm') },
  async (t) => {
    const cwd = temporaryFolder(t)
    const { status, err } = await runProgram('npm', ['install', '--silent', '--no-save', '@elastic/ecs@9.4.0'], { cwd })
    t.equal(status, 0, err)
    const { EcsFlat } = createRequire(join(cwd, 'main.js'))('@elastic/ecs')
    const [input] = parse(readExample('elastic/filebeat.yml'))['filebeat.inputs']
    const moved: { from: string; to: string }[] = input.processors.flatMap(
      ({ rename, copy_fields }: Record<string, { fields: object[] }>) => (rename ?? copy_fields)?.fields ?? [],
    )
    t.ok(moved.length > 15)
    const page = readFileSync(join(import.meta.dirname, '../../docs/log.md'), 'utf8')
    for (const { from, to } of moved) {
      t.ok(Object.hasOwn(EcsFlat, to), to)
      const [, name] = from.split('.')
      t.match(page, `\`${name}\``)
      // A remote address is also a text, such as `unix socket`.
      t.equal(EcsFlat[to].type === 'long', ['pid', 'status'].includes(String(name)), to)
      t.not(EcsFlat[to].type, 'ip', to)
    }
    const added = input.processors.at(-1).add_fields.fields
    for (const name of Object.keys(added)) t.ok(Object.hasOwn(EcsFlat, name), name)
  },
)
