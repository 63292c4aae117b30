import { hash } from 'node:crypto'
import { globSync } from 'node:fs'
import type { Test } from 'tap'
import { PROBLEM_CODES } from '../../src/admin/wire/problem.ts'
import { settings } from '../../src/config.ts'
import { AUTHENTICATION_REASONS, CHECK_REASONS, type ErrorAnswer, REQUEST_REASONS } from '../../src/domain/reasons.ts'
import { openDatabase } from '../../src/store/sqlite/connection.ts'
import { LINES, nameInLog } from '../../src/telemetry/audit-log.ts'
import { CATALOGUE, type Metric } from '../../src/telemetry/metrics/catalogue.ts'
import { ROOT, read } from '../repository/files.ts'
import { helpOf, outputs } from './commands.ts'
import type { Entries } from './lists.ts'
import { callsAndSchemas } from './openapi.ts'

const entriesOf = <Value>(all: object, factsOf: (value: Value, name: string) => string[]): Entries =>
  Object.fromEntries(Object.entries(all).map(([name, value]) => [name, factsOf(value, name)]))

/** What docs/stability.md promises, as it is now, by the names of the lists. The documents that this reads are tested against the code. */
export async function promises(t: Test): Promise<Record<string, Entries>> {
  return {
    wire: callsAndSchemas(read('docs/openapi.yaml')),
    settings: entriesOf<(typeof settings)['HOST']>(settings, (setting) => [
      `default ${setting.default}`,
      ...VALUES.filter((text) => isAccepted(setting, text)),
    ]),
    commands: { ...helpOf(read('docs/operations/commands.md')), ...(await outputs(t)) },
    log: {
      ...entriesOf<(typeof LINES)['ready']>(LINES, ({ level, fields }) => [level, ...fields.map(nameInLog)]),
      ...reasons('check', CHECK_REASONS),
      ...reasons('authentication', AUTHENTICATION_REASONS),
      ...reasons('request', REQUEST_REASONS),
    },
    metrics: entriesOf<Metric>(CATALOGUE, ({ type, labels }) => [
      type,
      ...Object.entries(labels).flatMap(([label, values]) => [label, ...values.map((value) => `${label} ${value}`)]),
    ]),
    'admin-api': {
      ...callsAndSchemas(read('docs/openapi-admin.yaml')),
      ...Object.fromEntries(Object.entries(PROBLEM_CODES).map(([code, status]) => [`code: ${code}`, [String(status)]])),
    },
    database: database(),
    artifacts: Object.fromEntries(ARTIFACTS.map(([name, file, pattern]) => [name, textsIn(read(file), pattern)])),
  }
}

/** Every setting is tried with each of these. */
const VALUES = [
  ...['on', 'off', 'none', 'auto', '1', '99', '8080', '127.0.0.1', '::1', 'body', 'body,basic', 'groups=a,b'],
  ...['any', 'provider', 'body,jwt', 'body,basic,jwt', '5,report-only', 'red'],
  ...['debug', 'info', 'warn', 'error', 'fatal', 'silent', '10.0.0.0/8, ::1', '/run/secrets/a', '127.0.0.1:1'],
  ...['[::1]:1', 'unix:/run/a.sock', 'sqlite:/a.db', 'sqlite::memory:', 'postgres://u@h/d', 'https://a.example'],
  'http://localhost:1',
]

function isAccepted({ parse }: { parse: (text: string) => unknown }, text: string): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

const reasons = (kind: string, table: Record<string, ErrorAnswer>): Entries =>
  Object.fromEntries(
    Object.entries(table).map(([name, { status, code }]) => [`${kind}: ${name}`, [`${status} ${code}`]]),
  )

/**
 * Each migration by the hash of its text, the columns and the fields of views that they lead to, and the oldest program that may
 * run then. Views are made anew by a new migration only: as long as there is none, they must stay the same, too.
 */
function database(): Entries {
  const migrations = globSync('migrations/*/[0-9]*.sql', { cwd: ROOT }).sort()
  const views = ['postgres', 'sqlite'].map((store) => {
    const latest = migrations.findLast((file) => file.startsWith(`migrations/${store}/`))
    return [`views after ${latest}`, [hashOf(`migrations/${store}/views.sql`)]]
  })
  const columns = openDatabase(':memory:', (db) => {
    const all = db.prepare<[], [string, string]>(
      `SELECT t.name, c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c
       WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.name`,
    )
    const texts = db
      .prepare<[], [string, string]>("SELECT name, sql FROM sqlite_schema WHERE type = 'view'")
      .raw()
      .all()
    const fields = texts.flatMap(([view, sql]) => textsIn(sql, /'(\w+)',/g).map((field) => [view, `field ${field}`]))
    const oldest = db.prepare<[], [string]>('SELECT oldest_program FROM compatibility').raw().get()
    const rows = [...all.raw().all(), ...fields, ['oldest program', String(oldest)]]
    db.close()
    return rows
  })
  const byTable = Object.groupBy(columns, ([table]) => String(table)) as Record<string, string[][]>
  return {
    ...entriesOf<string[][]>(byTable, (rows) => rows.map(([, column]) => String(column))),
    ...Object.fromEntries(migrations.map((file) => [file, [hashOf(file)]])),
    ...Object.fromEntries(views),
  }
}

const hashOf = (file: string) => hash('sha256', read(file)).slice(0, 16)

const UNIT = 'deploy/systemd/token-server.service'
const COMMAND = 'lab/release/debian/token-server'

/** Where the names and paths of artifacts are written: all texts that a pattern finds in a file. */
const ARTIFACTS: [name: string, file: string, pattern: RegExp][] = [
  ['npm: package and command', 'package.json', /(?<="name": |"bin": \{\s+)"([\w-]+)"/g],
  ['npm: files', 'lab/release/build.ts', /`(\$\{name\}[^`]+)`|'(THIRD-PARTY\.md|SHA256SUMS)'/g],
  ['executable: file', 'lab/release/build.ts', /`(token-server-[^`]+)`/g],
  ['Debian: package', 'lab/release/debian/control', /^Package: (\S+)/gm],
  ['Debian: file', 'lab/release/debian.ts', /`(token-server_[^`]+\.deb)`/g],
  ['Debian: command', 'lab/release/debian.ts', /'(usr\/s?bin\/[^']+)'/g],
  ['Debian: settings and database', COMMAND, /^settings=(\S+)|sqlite:([^"}]+)/gm],
  ['Debian: user', COMMAND, /--reuid=(\S+)/g],
  ['systemd: service, backup', 'lab/release/debian/postinst', /token-server(?:-backup)?\.(?:service|timer)/g],
  [
    'systemd: settings, database, socket, user',
    UNIT,
    /^((?:Environment|EnvironmentFile|User|StateDirectory|RuntimeDirectory)=.*)$/gm,
  ],
  ['image: name', '.github/workflows/release.yml', /IMAGE: (ghcr\.io\/\S+.*)$/gm],
  [
    'image: settings, folder, user, port',
    'Dockerfile',
    /^((?:ENV|VOLUME|EXPOSE) .*|WORKDIR (?!\/app).*)$|^FROM \S+:(nonroot)$/gm,
  ],
]

function textsIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([all, ...groups]) => groups.find(Boolean) ?? all)
}
