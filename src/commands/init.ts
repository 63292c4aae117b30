import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, isIP } from 'node:net'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type Config, readConfig, settings } from '../config.ts'
import { locationText } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { isLocalHost } from '../web/address.ts'
import { loginLink, NO_CONSOLE, NO_LINKS } from './console.ts'
import { administer } from './shared/administer.ts'
import { ENV_FILE, readEnvFile } from './shared/env-file.ts'
import { addCommand, type JsonOption, print, prompt, type Terminal } from './shared/terminal.ts'
import { labelled } from './shared/text.ts'

const ADMIN_ADDRESS = '127.0.0.1:8081'

interface InitOptions extends JsonOption {
  data?: string
  publicUrl?: string
  operator?: string
  settings: string
  yes?: boolean
}

type Question = 'data' | 'publicUrl' | 'operator'
/** Resolves to the answer: the option, else what is typed, else the default. `check` throws an error for an invalid one. */
type Ask = (words: string, option: Question, proposed: string, check: (answer: string) => unknown) => Promise<string>

/** Adds `init`, which makes what a new installation needs. Whatever exists stays as it is. */
export function addInit(program: Command, terminal: Terminal): void {
  addCommand(program, 'init', 'create the settings file, the database and the first operator, unless they exist')
    .option('--data <place>', 'where the data goes: a folder, or postgres://USER@HOST/DATABASE')
    .option('--public-url <url>', 'where clients reach the server')
    .option('--operator <name>', 'the first operator, with the role admin')
    .option('--settings <file>', 'the settings file', ENV_FILE)
    .option('--yes', 'ask nothing and use the defaults')
    .action((options: InitOptions) => init(terminal, options))
}

async function init(terminal: Terminal, options: InitOptions): Promise<void> {
  const ask = createAsk(terminal, options)
  const file = resolve(options.settings)
  const isNew = !existsSync(file)
  const env = isNew ? await newSettings(ask, terminal.env) : oldSettings(file, terminal.env, options)
  const config = readConfig(env)
  const { DATABASE_URL: location, ADMIN_ADDRESS: console, OPERATORS: operators } = config
  // The end of the output says what was made, and the audit trail has it.
  const here = { ...terminal, env: { ...env, LOG_LEVEL: 'error' } }

  let isMissing = false
  const onMissing = () => {
    isMissing = true
  }
  const [oldest] = await administer(here, ({ operators }) => operators.list(), { dryRun: true, onMissing })
  const { SUDO_USER, USER = 'admin' } = terminal.env
  const { operatorSchema, valid } = await import('../administration/rules.ts')
  const check = (name: string) => valid(operatorSchema, { name, role: 'admin' })
  const name = oldest?.name ?? (await ask('The first operator of the console', 'operator', SUDO_USER ?? USER, check))
  // All questions are answered: from here on, changes are made.
  if (isNew) writeSettings(file, env)
  const undo = (error: unknown) => {
    if (isNew) rmSync(file)
    throw error
  }
  if (!oldest) await administer(here, ({ operators }) => operators.add(name, 'admin'), { create: true }).catch(undo)

  const login = !oldest && console && operators === 'any' ? await loginLink(here, name) : undefined
  const made = (isMade: boolean) => (isMade ? 'made' : 'was there')
  const lines = labelled({
    settings: `${file} (${made(isNew)})`,
    database: `${locationText(location)} (${made(isMissing)})`,
    operator: `${name} (${made(!oldest)})`,
  })
  // npx sets the variable. The executable is called by its path; elsewhere argv0 is that of Node.js.
  const [called = 'token-server'] = /^.*\btoken-server[^/]*$/.exec(process.argv0) ?? []
  const command = terminal.env.npm_command === 'exec' ? 'npx token-server' : called
  const how = operators === 'any' ? `"${command} console ${name}" prints a link to the console.` : NO_LINKS
  const later = console ? how : NO_CONSOLE
  const byHand = `"${command} serve", or (re)start its service or its container`
  // The command of the Debian package sets this.
  const { SYSTEMD_UNIT: unit } = terminal.env
  const start = unit ? `"systemctl restart ${unit}"` : byHand
  // Later, this server itself may use them.
  const inUse = isNew ? await portsInUse(config) : []
  const next = [
    ...inUse.map((name) => `${name} names a port that another program uses: set another one in ${file} first.`),
    `Next: start the server with ${start}.`,
    login ? `Then open the console:\n\n${login.words}` : later,
    'Before partners depend on it, go through the production checklist in the documents.',
  ]
  const result = {
    settings: { file, made: isNew },
    database: { location: locationText(location), made: isMissing },
    operator: { name, made: !oldest },
    login: login?.result ?? null,
    ports_in_use: inUse,
  }
  await print(terminal, options, result, `${lines}\n\n${next.join('\n\n')}`)
}

async function portsInUse({ HOST, PORT, ADMIN_ADDRESS, OPS_ADDRESS }: Config): Promise<string[]> {
  const places = Object.entries({ PORT: { host: HOST, port: PORT }, ADMIN_ADDRESS, OPS_ADDRESS })
  const names: string[] = []
  for (const [name, place] of places) {
    if (!place || 'socket' in place) continue
    const server = createServer().listen(place)
    const cause = await once(server, 'listening').catch(({ code }) => code)
    server.close()
    if (cause === 'EADDRINUSE') names.push(name)
  }
  return names
}

function createAsk(terminal: Terminal, options: InitOptions): Ask {
  const ask: Ask = async (words, option, proposed, check) => {
    const given = options[option] ?? (options.yes ? proposed : undefined)
    if (given === undefined && !terminal.stdin.isTTY) {
      throw new OperatorError('This is not a terminal: answer with --data, --public-url and --operator, or give --yes.')
    }
    const typed = given ?? (await prompt(terminal, `${words} [${proposed}]: `))
    if (typed === undefined) throw new OperatorError('Nothing was created: the input ended.')
    const answer = typed.trim() || proposed
    try {
      check(answer)
      return answer
    } catch (error) {
      const wrong = (error as Error).message.replace(/^(?=[a-z])/, 'It ').replace(/\.?$/, '.')
      if (given !== undefined) throw new OperatorError(`--${option.replace('U', '-u')}: ${wrong}`, { cause: error })
      terminal.stderr.write(`${wrong}\n`)
      return ask(words, option, proposed, check)
    }
  }
  return ask
}

/** The environment with the answers, which take precedence. */
async function newSettings(ask: Ask, env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const { HOST = settings.HOST.default, PORT = settings.PORT.default, DATABASE_URL = './data' } = env
  const urlOf = (data: string) =>
    /^(sqlite:|[a-z]+:\/\/)/.test(data) ? data : `sqlite:${data.replace(/\/$/, '')}/token-server.db`
  const words = 'Where the data goes: a folder, or postgres://USER@HOST/DATABASE'
  const data = await ask(words, 'data', DATABASE_URL, (data) => settings.DATABASE_URL.parse(urlOf(data)))
  const local = env.PUBLIC_URL ?? `http://localhost:${PORT}`
  const publicUrl = await ask('The URL that clients use', 'publicUrl', local, settings.PUBLIC_URL.parse)
  const hasProxy = publicUrl.startsWith('https:') && !env.TLS_CERT_FILE
  return {
    ADMIN_ADDRESS,
    // The proxy must be on this machine if nothing else can reach the server.
    ...(hasProxy && isIP(HOST) && isLocalHost(HOST) && { TRUST_PROXY: HOST }),
    ...env,
    DATABASE_URL: urlOf(data),
    PUBLIC_URL: publicUrl,
  }
}

/** The environment, with the values of the file where it has none. Throws OperatorError if an option asks for other settings. */
function oldSettings(file: string, env: NodeJS.ProcessEnv, { data, publicUrl }: InitOptions): NodeJS.ProcessEnv {
  const { settings, errors } = readEnvFile(file)
  if (errors.length > 0) throw new OperatorError(errors.join('\n'))
  if (data !== undefined || publicUrl !== undefined) {
    throw new OperatorError(`${file} exists: change the settings in it, and leave out --data and --public-url.`)
  }
  return { ...settings, ...env }
}

/** Writes all settings with their meaning; those with their default value as comments. Throws OperatorError. */
function writeSettings(file: string, env: NodeJS.ProcessEnv): void {
  const lines = Object.entries(settings).map(([name, { default: byDefault, meaning }]) => {
    const value = env[name] ?? byDefault
    const mark = ['"', "'", '`'].find((one) => !value.includes(one))
    if (mark === undefined) throw new OperatorError(`${name} has all three kinds of quotation marks: leave one out.`)
    const quoted = /[\s#"'`]/.test(value) ? mark + value + mark : value
    return `\n# ${meaning}\n${value === byDefault ? '# ' : ''}${name}=${quoted}\n`
  })
  const head = '# Made by "token-server init". The environment takes precedence. Restart the server after a change.\n'
  try {
    writeFileSync(file, head + lines.join(''), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new OperatorError(`The settings could not be written: ${(error as Error).message}.`, { cause: error })
  }
}
