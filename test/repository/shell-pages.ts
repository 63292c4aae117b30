import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { ROOT } from './files.ts'

/** A fenced block of a page. */
export interface Block {
  line: number
  language: string
  /** Why it is not run, as the mark above it says. */
  reason: string | undefined
  code: string
}

/** What a page needs besides. */
export interface Preparation {
  /** Shell commands that come first. */
  before?: string
  /** What stands for something of the reader's, and what it is here: a text, or the name of a value in what was printed. */
  replace?: Record<string, string>
  /** What is printed in the end, because the page says so. */
  prints?: RegExp
  /** The program without which it is skipped. */
  needs?: string
  /** Whether it gets a PostgreSQL server, with the shell as its superuser. */
  postgres?: true
}

/** All fenced blocks of a page. */
export function blocksOf(text: string): Block[] {
  const fences = text.matchAll(/^( *)(?:<!-- not run: (.+?) -->\n\1)?```(\w*)\n(.*?)^\1```$/gms)
  return [...fences].map(({ 1: indent = '', 2: reason, 3: language = '', 4: code = '', index }) => ({
    line: text.slice(0, index).split('\n').length,
    language,
    reason,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
}

/** Ports that the documents name: each page has others, so that several pages can run beside other servers. */
const PORTS = /\b(8000|8080|8081|8082|9091|9464)\b/g

/** How long a block may take on a busy machine. */
const LIMIT_MS = 120_000

/** Programs that stay in the foreground, and what they say, or where they answer, when they are ready. A reader has a terminal for each. */
const SERVERS: [program: RegExp, ready: string][] = [
  [/token-server serve\b/, '"msg":"ready"'],
  [/token-server demo\b/, 'login#'],
  [/^ *caddy run\b/, 'serving initial configuration'],
  [/^ *envoy -c\b/, 'starting main dispatch loop'],
  [/^haproxy -db\b/, 'http://127.0.0.1:8000'],
  [/\bprometheus --config\b/, 'Server is ready'],
]

/** What is typed on the terminal for a command. */
const TYPED: [command: RegExp, keys: string][] = [
  [/token-server init$/m, '\n\n\n'],
  [/token-server apply (?!.*(--dry-run|--yes))/, 'yes\n'],
  [/^read -rs CLIENT_SECRET/m, 'CLIENT_SECRET\n'],
]

/** Runs the blocks that are handed to it in order in one shell, as somebody does who reads the page. The first failure ends it. */
const DRIVER = `
set -eE
shopt -s expand_aliases
trap 'echo "Failed: $BASH_COMMAND"' ERR
trap 'trap "" TERM; kill 0' EXIT
echo $$ > "$STEPS/pid"
# An answer that refuses the request is a failure, unless the answer is thrown away or the page shows a refusal.
curl() { case " $* " in *" -o "*) command curl "$@" ;; *) command curl $FAIL "$@" ;; esac; }
# The packages are there: otherwise this would not run.
npm() { [ "$*" = ci ]; }
# What it would find is the first in the PATH. npm itself takes longer to start than the command.
npx() { "$@"; }
# Prints one field of a JSON document.
field() { node -p "JSON.parse(require('fs').readFileSync(0))['$1']"; }
declare -A running
# Each program runs once: one that is started again is stopped before.
stop() { [ -z "\${running[$1]}" ] || { kill "\${running[$1]}"; wait "\${running[$1]}" || true; }; }
# Waits until the program that was started last writes that it is ready, or answers.
started() { running[$1]=$!; until ready "$1" "$2"; do kill -0 $!; sleep 0.1; done; }
ready() { case $2 in http*) command curl -s -o /dev/null "$2" ;; *) grep -q -e "$2" "$HOME/$1.log" ;; esac; }
for ((step = 0; ; step++)); do
  until [ -e "$STEPS/$step" ]; do sleep 0.05; done
  source "$STEPS/$step"
  echo; echo "step $step is over"
done`

/** Starts a shell on a terminal, in a folder with the examples and with this checkout as the program. */
export async function startShell(t: Test, page: string, env: NodeJS.ProcessEnv = {}) {
  const world = temporaryFolder(t)
  const steps = join(world, 'steps')
  const bin = join(world, 'node_modules/.bin')
  for (const folder of [steps, bin]) mkdirSync(folder, { recursive: true })
  symlinkSync(join(ROOT, 'bin/token-server.js'), join(bin, 'token-server'))
  symlinkSync(process.execPath, join(bin, 'node'))

  const ports: Record<string, number> = {}
  for (const [, port = ''] of PORTS.source.matchAll(/(\d{4})/g)) ports[port] = await freePort()
  const withPorts = (text: string) => text.replace(PORTS, (port) => String(ports[port]))
  for (const folder of ['examples', 'seeds']) cpSync(join(ROOT, folder), join(world, folder), { recursive: true })
  for (const file of globSync('examples/**/*{.yml,.yaml,.cfg,.conf,file}', { cwd: world }))
    writeFileSync(join(world, file), withPorts(readFileSync(join(world, file), 'utf8')))

  const driver = join(world, 'driver.sh')
  writeFileSync(driver, DRIVER)
  const shell = spawn('script', ['-qefc', `exec bash ${driver}`, '/dev/null'], {
    cwd: page.startsWith('examples/') ? join(world, dirname(page)) : world,
    env: {
      ...env,
      PATH: [bin, env.PATH, process.env.PATH, '/usr/sbin'].filter(Boolean).join(':'),
      HOME: world,
      STEPS: steps,
      PORT: String(ports[8080]),
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(world, 'compile-cache'),
    },
  })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(shell, 'exit')
  t.teardown(async () => {
    if (shell.exitCode !== null) return
    if (count > 0) process.kill(-Number(readFileSync(join(steps, 'pid'), 'utf8')), 'SIGTERM')
    shell.kill()
    await exited
  })
  const logs = () => globSync('**/*.log', { cwd: world }).map((file) => readFileSync(join(world, file), 'utf8'))
  const said = () => stripVTControlCharacters(output).replaceAll('\r', '')
  let count = 0

  /** Runs a block to its end. Resolves to what it printed, and its servers too. Throws an Error if it fails. */
  async function run(code: string, { mayRefuse = false, fill = (text: string) => text } = {}): Promise<string> {
    const over = `step ${count} is over\n`
    const step = join(steps, String(count++))
    const begin = said().length
    const text = `FAIL=${mayRefuse ? '' : '--fail-with-body'}\n${withPorts(inBackground(fill(code)))}\n`
    writeFileSync(`${step}.new`, text)
    renameSync(`${step}.new`, step)
    for (const [command, keys] of TYPED) if (command.test(code)) shell.stdin.write(fill(keys))
    const succeeded = () => said().includes(over, begin)
    await until(() => succeeded() || shell.exitCode !== null, LIMIT_MS).catch(() => {})
    if (!succeeded()) throw new Error(`${text}\n${said().slice(begin)}\n${logs().join('\n').slice(-2000)}`)
    return [said().slice(begin), ...logs()].join('\n')
  }

  return { run }
}

/** The servers of a block are started, and what follows waits until they are ready. */
function inBackground(code: string): string {
  const lines = code
    .replace(/&&\n */g, '&& ')
    .split('\n')
    .map((line) => {
      const [, ready] = SERVERS.find(([program]) => program.test(line)) ?? []
      const [, command = '', port = '', program = ''] =
        /^((?:.*\bPORT=(\d+) )?.*?(token-server|caddy|envoy|haproxy|prometheus).*?)(?: +#.*)?$/.exec(line) ?? []
      const name = program + port
      const log = `~/${name}.log`
      // The log of the program that was stopped would say at once that this one is ready.
      const start = `stop ${name}\n: > ${log}\n${command} >> ${log} 2>&1 &\nstarted ${name} '${ready}'`
      return ready === undefined ? line : start
    })
  return lines.join('\n')
}

/** The paths of all fields of a JSON document, those of a list as its first entry has them. */
export function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.slice(0, 1).flatMap((entry) => fieldsOf(entry).map((field) => `[]${field}`))
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, value]) => [
    `.${name}`,
    ...fieldsOf(value).map((field) => `.${name}${field}`),
  ])
}

/** The JSON documents in a text: the whole text is one, or lines of it are. */
export function documentsIn(text: string): unknown[] {
  const lines = text.replaceAll('}{', '}\n{').split('\n')
  return parsed([text]).length > 0 ? parsed([text]) : parsed(lines)
}

function parsed(texts: string[]): unknown[] {
  return texts.flatMap((text) => {
    try {
      return [JSON.parse(text)]
    } catch {
      return []
    }
  })
}
