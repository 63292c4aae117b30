import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { needs } from '../support/needs.ts'
import { DEBIAN_BINARIES } from '../support/postgres/binaries.ts'
import { startPostgres } from '../support/postgres/postgres.ts'
import { ROOT, read } from './files.ts'
import { type Block, blocksOf, documentsIn, fieldsOf, type Preparation, startShell } from './shell-pages.ts'

/** Why a block is not run: what a test cannot have, or what another one runs. */
const REASONS = [
  ...['systemd', 'Docker', 'a cluster', 'root', 'another machine', 'a package of a release'],
  ...['minutes of load', 'minutes of compiling', 'all tests', 'a program that Debian does not have'],
  ...['certbot', 'it needs a receiver', 'it needs a JWT'],
]

const LANGUAGES = ['sh', 'bash', 'shell', 'console']

/** A server with its console. */
const START = `
export ADMIN_ADDRESS=\${ADMIN_ADDRESS:-127.0.0.1:8081}
token-server init --yes --operator root > /dev/null
token-server serve
`

/** An admin key, as programs use it: alone, and as the header that curl reads. */
const KEY = `
token-server operators key root --expires 1d --json | field admin_key > bare-key
echo "Authorization: Bearer $(cat bare-key)" > key
`

/** A server with an application that is approved for the suite `store`, and what they need to use it. */
const SERVER = `
export CLIENT_AUTHENTICATION=body,basic
${START}
SUITE_SECRET=$(token-server suites register store --name Store --json | field client_secret)
token-server applications register --name A --developer-email a@b.example --suite store --json > application.json
CLIENT_ID=$(field client_id < application.json)
CLIENT_SECRET=$(field client_secret < application.json)
ask() { curl -s http://127.0.0.1:8080/v1/oauth/accesstoken -d grant_type=client_credentials -d client_id=$CLIENT_ID "$@"; }
TOKEN=$(ask -d client_secret=$CLIENT_SECRET | field access_token)
echo client_id $CLIENT_ID; echo client_secret $CLIENT_SECRET; echo access_token $TOKEN
`

/** A JWT of an issuer, and its keys. */
const JWT = `
node -e "
const { generateKeyPairSync, sign } = require('crypto')
const { readFileSync, writeFileSync } = require('fs')
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
writeFileSync('jwks.json', JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }))
const [, aud] = /^PUBLIC_URL=(.*)$/m.exec(readFileSync('.env', 'utf8')) ?? []
const times = { iat: Date.now() / 1000, exp: Date.now() / 1000 + 600 }
const claims = { iss: 'https://issuer.example', sub: 'system:serviceaccount:shop:backend', aud, ...times }
const text = [{ alg: 'ES256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
writeFileSync('token.jwt', text + '.' + signature.toString('base64url'))
"
`

/** The same with a refused request that the log and `why` know of. */
const REFUSED = `${SERVER}
FAIL= ask -d client_secret=wrong -H 'X-Request-Id: 9b8c5f3a1d7e42c06f0a'
until grep -q 9b8c5f3a1d7e42c06f0a token-server.log; do sleep 0.1; done
`

/** A server with a suite of the example gateways, which listens where the console does otherwise. */
const GATEWAY = `export ADMIN_ADDRESS=off ${SERVER}
node -e "require('http').createServer((request, response) => response.end('from the suite')).listen(8081, '127.0.0.1')" &
until command curl -s -o /dev/null http://127.0.0.1:8081; do sleep 0.1; done
`

/** What a role and its database are made of, and where they are. */
const ROLE = `
umask 077
echo of-the-role > database-password
printf '%s\n' "127.0.0.1:$PGPORT:*:postgres:$SUPERUSER" "127.0.0.1:$PGPORT:*:token_server:of-the-role" > ~/.pgpass
psql -c "CREATE ROLE token_server LOGIN PASSWORD 'of-the-role'"
for name in token_server token_server_new; do
  psql -c "CREATE DATABASE $name OWNER token_server ENCODING UTF8 TEMPLATE template0"
done
echo role_at token_server@127.0.0.1:$PGPORT
`

const PAGES: Record<string, Preparation> = {
  'README.md': {
    // The download.
    before: `export ADMIN_ADDRESS=127.0.0.1:8081
      printf '#!/bin/sh\nexec node_modules/.bin/token-server "$@"\n' > token-server-1.1.0-linux-x64`,
    replace: { 'localhost:8080': '127.0.0.1:8080' },
    prints: /"access_token"/,
  },
  'docs/admin-api.md': {
    before: START,
    replace: { 'otsa_…': 'admin_key', pr1zMMUb0XyzToWW5kdXyyHE6gjuqOCy: 'client_id', '3q2-7wVPcd9hJj1x0zSkWA': 'etag' },
  },
  'docs/console.md': { prints: /127\.0\.0\.1:\d+\/login#/ },
  'docs/http.md': { before: SERVER, prints: /X-Client-Id/i },
  'docs/mcp.md': { before: SERVER, prints: /Tools for agents/ },
  'docs/log.md': { before: REFUSED, prints: /"authentication refused"/ },
  'docs/operations/administration.md': {
    before: `${START}${KEY}
      cp examples/apply/applications.yaml .
      DATABASE_URL=sqlite:rehearsal.db token-server seed seeds/applications.json --create --json > credentials.json`,
    replace: {
      'https://admin.example.com': 'http://127.0.0.1:8081',
      // As the page says, 2: something would change.
      'applications.yaml --dry-run': 'applications.yaml --dry-run || [ $? = 2 ]',
    },
  },
  'docs/federated.md': {
    before: `${SERVER}${JWT}`,
    replace: { 'http://localhost:8080': 'http://127.0.0.1:8080' },
    prints: /ok {4}It matches the federated credential[\s\S]*"access_token"/,
  },
  'docs/operations/backup-and-upgrade.md': {
    before: `${SERVER} mkdir backups`,
    replace: {
      '/opt/token-server/bin/token-server': 'token-server',
      '/backups': '$HOME/backups',
      '/tmp/rehearsal': '$HOME/rehearsal',
    },
    prints: /^Restored /m,
  },
  'docs/operations/install-and-run.md': {
    before: `export ADMIN_ADDRESS=unix:$HOME/admin.sock ${START}${KEY}`,
    replace: { 'https://api.example': 'http://127.0.0.1:8080', '/run/token-server/admin.sock': 'admin.sock' },
    prints: /"access_token"/,
  },
  'docs/operations/monitoring.md': {
    before: 'sed -i s/15s/1s/ examples/prometheus/prometheus.yml',
    replace: { 'sleep 30': 'sleep 5' },
    prints: /ALERTS.*TokenServerAuthenticationRefusalsRising/,
    needs: 'prometheus',
  },
  'docs/operations/moving-to-postgresql.md': {
    before: `${SERVER}${ROLE}`,
    replace: { 'token_server@db.example': 'role_at' },
    prints: /^The copy was compared with the original\.$/m,
    postgres: true,
  },
  'docs/operations/postgresql.md': {
    before: `${ROLE} mkdir backups`,
    replace: { 'token_server@localhost': 'role_at', '/backups': '$HOME/backups' },
    prints: /^backup successfully verified$/m,
    needs: 'haproxy',
    postgres: true,
  },
  'docs/operations/troubleshooting.md': {
    before: `export OPS_ADDRESS=127.0.0.1:9464 ${REFUSED}`,
    replace: { '--suite ID': '--suite store', 'console NAME': 'console root' },
    prints: /^200 after [\s\S]*^token_server_disk_sync_duration_seconds_sum [\s\S]*\/login#/m,
  },
  'examples/caddy/README.md': { before: GATEWAY, prints: /from the suite/, needs: 'caddy' },
  'examples/ci/README.md': { before: 'token-server init --yes --operator root > /dev/null', needs: 'openssl' },
  'examples/client/README.md': {
    before: SERVER,
    replace: {
      'CLIENT_ID=…': 'CLIENT_ID=$CLIENT_ID',
      'https://api.example/orders': 'http://127.0.0.1:8080/v1/oauth/verify/store',
    },
    prints: /^200/m,
  },
  'examples/envoy/README.md': { needs: 'envoy' },
  'examples/haproxy/README.md': {
    before: `export ADMIN_ADDRESS=off ${SERVER}`,
    prints: /HTTP\/1.1 200/,
    needs: 'haproxy',
  },
  'examples/prometheus/README.md': { needs: 'promtool' },
}

const FOLDERS = ['*.md', 'docs', 'deploy', 'examples', 'lab']
const files = execFileSync('git', ['ls-files', ...FOLDERS], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
const isShell = ({ language }: Block) => LANGUAGES.includes(language)
const pages = files
  .filter((file) => file.endsWith('.md'))
  .map((page) => ({ page, blocks: blocksOf(read(page)) }))
  .filter(({ blocks }) => blocks.some(isShell))

t.test('Docs: each shell block is run here, or says why it is not', async (t) => {
  const all = pages.flatMap(({ page, blocks }) => blocks.filter(isShell).map((block) => ({ page, ...block })))
  const marked = all.filter(({ reason }) => reason !== undefined)
  for (const { page, reason = '' } of marked) t.ok(REASONS.includes(reason), `${page}: ${reason}`)
  t.strictSame(Object.keys(PAGES).sort(), [...new Set(all.filter((one) => !one.reason).map(({ page }) => page))].sort())
  const counts = [...Map.groupBy(marked, ({ reason }) => reason)].map(([reason, { length }]) => `${length} ${reason}`)
  t.comment(`Shell blocks: ${all.length - marked.length} run, ${marked.length} not: ${counts.join(', ')}`)
  t.ok(all.length - marked.length >= 40)
})

for (const [where, isThere] of [
  ['examples', (page: string) => page.startsWith('examples/')],
  ['other folders', (page: string) => !page.startsWith('examples/')],
] as const) {
  t.test(`Docs: the shell blocks of a page work in their order, and print what it shows: ${where}`, async (t) => {
    t.jobs = 3
    for (const { page, blocks } of pages.filter(({ page }) => isThere(page))) {
      const preparation = PAGES[page]
      if (!preparation) continue
      const skip =
        (process.platform !== 'linux' && 'needs script of util-linux') ||
        (preparation.needs !== undefined && needs(preparation.needs)) ||
        (preparation.postgres === true && needs("Debian's PostgreSQL", !!DEBIAN_BINARIES))
      t.test(page, { skip, buffered: true }, (t) => runPage(t, page, blocks, preparation))
    }
  })
}

/** The names of what a reader puts in, and what was printed with it. */
const PLACEHOLDERS = {
  CLIENT_ID: 'client_id',
  ID: 'client_id',
  CLIENT_SECRET: 'client_secret',
  SECRET: 'client_secret',
  TOKEN: 'access_token',
}

async function runPage(t: Test, page: string, blocks: Block[], preparation: Preparation): Promise<void> {
  const { before, replace = {}, prints = /^/ } = preparation
  const { run } = await startShell(t, page, preparation.postgres && (await superuserOf(t)))
  let printed = before === undefined ? '' : await run(before)
  /** The last value that was printed with this name. */
  const lastOf = (name: string) =>
    [...printed.matchAll(new RegExp(`(?<=^|["\\s])${name}[":\\s]+([^\\s",]+)`, 'gim'))].at(-1)?.[1]
  const fill = (code: string) => {
    let text = code.replaceAll('REQUEST_ID', '9b8c5f3a1d7e42c06f0a')
    for (const [word, by] of Object.entries(replace)) text = text.replaceAll(word, () => lastOf(by) ?? by)
    for (const [word, name] of Object.entries(PLACEHOLDERS)) {
      const pattern = new RegExp(`(?<!read -rs |export |[\\w$#{-])${word}(?![\\w=])`, 'g')
      text = text.replaceAll(pattern, () => lastOf(name) ?? word)
    }
    return text
  }
  for (const [index, block] of blocks.entries()) {
    if (!isShell(block) || block.reason !== undefined) continue
    const next = blocks[index + 1]
    const answer = await run(block.code, { mayRefuse: next?.code.includes('"status":4') === true, fill })
    printed += answer
    t.pass(`${page}:${block.line}`)
    const found = documentsIn(answer).map((document) => fieldsOf(document).join())
    for (const document of next?.language === 'json' ? documentsIn(next.code) : [])
      t.ok(found.includes(fieldsOf(document).join()), `shows ${JSON.stringify(document)}`, { answer })
  }
  t.match(printed, prints)
}

/** The environment in which PostgreSQL's programs connect to a server of its own. */
async function superuserOf(t: Test): Promise<NodeJS.ProcessEnv> {
  const { binaries, url } = await startPostgres(t, { binaries: DEBIAN_BINARIES as string })
  const { hostname, port, username, password } = new URL(url())
  return { PATH: binaries, PGHOST: hostname, PGPORT: port, PGUSER: username, SUPERUSER: password }
}

t.test('Docs: blocks of settings are settings that the server accepts', async (t) => {
  const all = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((page) => {
      const blocks = blocksOf(read(page)).filter(({ language }) => language === 'ini')
      // A block may rely on one before it.
      return blocks.length === 0 ? [] : [{ page, text: blocks.map(({ code }) => code).join('') }]
    })
  t.ok(all.length > 1)
  for (const { page, text } of all) {
    const lines = text.matchAll(/^([A-Z_]+)=(\S+)/gm)
    t.doesNotThrow(() => readConfig(Object.fromEntries([...lines].map(([, name, value]) => [name, value]))), page)
  }
})
