import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { ROOT, read } from '../repository/files.ts'
import { freePort } from '../support/free-port.ts'
import { listenHere } from '../support/listen-here.ts'
import { needs } from '../support/needs.ts'
import { shell } from '../support/shell.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** The shell lines of a step of a job on GitHub, or of a job on GitLab. */
const STEPS: Record<string, (job: string, step: string) => string> = {
  github: (job, step) => {
    const { steps } = parse(read('examples/ci/github.yml')).jobs[job] as { steps: { name?: string; run: string }[] }
    return String(steps.find(({ name }) => name === step)?.run)
  },
  gitlab: (job) => parse(read('examples/ci/gitlab.yml'))[job].script.join('\n'),
}

/** A checkout with the files of examples/ci, a server, and a receiver of comments. */
async function setting(t: Test) {
  const { folder, env } = temporaryDatabase(t)
  const port = await freePort()
  const { json } = shell(env)
  await startServer(t, { ...env, ADMIN_ADDRESS: `127.0.0.1:${port}` })
  const keyOf = async (name: string, role: string) => {
    await json(`operators add ${name} --role ${role}`)
    return (await json(`operators key ${name} --expires 1d`)).admin_key
  }
  const keys = { admin: await keyOf('pipeline', 'admin'), viewer: await keyOf('pipeline-plan', 'viewer') }
  const checkout = join(folder, 'checkout')
  for (const name of ['plan.sh', 'apply.sh']) cpSync(join(ROOT, 'examples/ci', name), join(checkout, 'ci', name))
  cpSync(join(ROOT, 'examples/apply/applications.yaml'), join(checkout, 'applications.yaml'))
  mkdirSync(join(checkout, 'bin'))
  symlinkSync(join(ROOT, 'bin/token-server.js'), join(checkout, 'bin/token-server'))
  const comments: { url: string | undefined; headers: object; body: string }[] = []
  const receiver = createServer(async (request, response) => {
    comments.push({ url: request.url, headers: request.headers, body: await text(request) })
    response.writeHead(201).end('{}')
  })
  const api = `http://${(await listenHere(t, receiver)).address}`
  const settings = {
    PATH: [join(checkout, 'bin'), dirname(process.execPath), process.env.PATH].join(':'),
    TOKEN_SERVER_URL: `http://127.0.0.1:${port}`,
    ...{ GITHUB_API_URL: api, GITHUB_REPOSITORY: 'us/partners', GITHUB_TOKEN: 'gh', NUMBER: '7' },
    ...{ CI_API_V4_URL: api, CI_PROJECT_ID: '5', CI_MERGE_REQUEST_IID: '7', COMMENT_TOKEN: 'gl' },
  }
  /** Runs a step as the runners do. Resolves to its status and what it says. */
  async function run(step: string, as: keyof typeof keys) {
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', step], {
      cwd: checkout,
      env: { ...settings, TOKEN_SERVER_KEY: keys[as] },
      timeout: 60_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { status, said: out + err }
  }
  return { json, run, comments, checkout }
}

const openssl = (cwd: string, ...args: string[]) => spawnSync('openssl', args, { cwd, encoding: 'utf8' })

const KEY_PAIR = 'req -x509 -newkey rsa:2048 -noenc -days 2 -subj /CN=o -keyout operators.key -out operators.pem'

const skip = needs('jq') || needs('curl') || needs('openssl')

for (const [ci, stepOf] of Object.entries(STEPS)) {
  t.test(
    `CI on ${ci}: a plan is a comment, a merge is applied, credentials are encrypted, drift fails`,
    { skip },
    async (t) => {
      const { json, run, comments, checkout } = await setting(t)
      const plan = async () => {
        const planned = await run(stepOf('plan', 'Plan'), 'viewer')
        if (ci === 'github') t.equal((await run(stepOf('plan', 'Comment'), 'viewer')).status, 0)
        return planned
      }
      t.match(await plan(), { status: 0, said: /To add: 4/ })
      const [{ url, headers, body } = { url: '', headers: {}, body: '' }] = comments
      t.equal(url, ci === 'github' ? '/repos/us/partners/issues/7/comments' : '/projects/5/merge_requests/7/notes')
      t.match(headers, ci === 'github' ? { authorization: 'Bearer gh' } : { 'private-token': 'gl' })
      const sent = ci === 'github' ? JSON.parse(body).body : new URLSearchParams(body).get('body')
      t.match(sent, /^\*\*token-server: This would change\*\*\n\n {4}\+ suite orders {2}"Orders API"\n/)

      const apply = () => run(stepOf('apply', 'Apply'), 'admin')
      t.match(await apply(), { status: 1, said: /operators\.pem/ }, 'without a certificate nothing is registered')
      t.strictSame(await json('applications list'), [])
      t.equal(openssl(checkout, ...KEY_PAIR.split(' ')).status, 0)
      const applied = await apply()
      t.match(applied, { status: 0, said: /Added: 4, changed: 0, removed: 0\./ })
      const decrypt = 'cms -decrypt -inform PEM -in credentials.cms -inkey operators.key'
      const { stdout } = openssl(checkout, ...decrypt.split(' '))
      const secrets = [...stdout.matchAll(/client_secret {2}(\w{40})/g)].map(([, secret = '']) => secret)
      t.equal(secrets.length, 4)
      t.notOk(
        secrets.some((secret) => (applied.said + readFileSync(join(checkout, 'credentials.cms'))).includes(secret)),
      )

      const drift = () => run(stepOf('drift', 'Compare'), 'viewer')
      t.match(await drift(), { status: 0, said: /^No changes\.\n/ })
      await json('applications update warehouse --quota 5')
      t.match(await drift(), { status: 3, said: /quota 5 → 3600/ })
      t.match(await apply(), { status: 0, said: /changed: 1/ })

      writeFileSync(join(checkout, 'applications.yaml'), 'suites: no list')
      t.match(await plan(), { status: 1, said: /Problems in the file/ })
      t.match(comments.at(-1)?.body, /The(\+| |%20)plan(\+| |%20)failed/)
      t.ok(existsSync(join(checkout, 'plan.md')))
    },
  )
}

const LINTERS: Record<string, string[]> = {
  actionlint: ['examples/ci/github.yml'],
  'check-jsonschema github': ['--builtin-schema', 'vendor.github-workflows', 'examples/ci/github.yml'],
  'check-jsonschema gitlab': [
    ...['--builtin-schema', 'vendor.gitlab-ci', '--data-transform', 'gitlab-ci', 'examples/ci/gitlab.yml'],
  ],
}

for (const [name, args] of Object.entries(LINTERS)) {
  const [program = ''] = name.split(' ')
  t.test(`CI: ${name} finds nothing wrong`, { skip: needs(program) }, async (t) => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: ROOT, encoding: 'utf8' })
    t.equal(status, 0, stdout + stderr)
  })
}
