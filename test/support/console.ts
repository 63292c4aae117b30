import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import root, { type Test } from 'tap'
import { startBrowser } from './browser.ts'
import { freePort } from './free-port.ts'
import { run, runJson, startServer } from './spawn.ts'
import { temporaryDatabase } from './temporary-database.ts'

export type Console = Awaited<ReturnType<typeof startConsole>>

/** Starts a server process with its console and an operator, `anna`, who is an admin. */
async function startConsole(t: Test, settings: Record<string, string> = {}) {
  const port = await freePort()
  const env = { ...temporaryDatabase(t).env, ADMIN_ADDRESS: `127.0.0.1:${port}`, ...settings }
  /** Runs a command on the server's database. Throws if it fails. */
  const command = (...args: string[]) => runJson(args, { env })
  await run(['migrate'], { env })
  await command('operators', 'add', 'anna', '--role', 'admin')
  const server = await startServer(t, env)
  const origin = `http://127.0.0.1:${port}`

  /** The one-time link that `token-server console` prints. */
  async function link(name = 'anna'): Promise<string> {
    const { out } = await run(['console', name], { env })
    return /http\S+/.exec(out)?.[0] as string
  }

  /** Requests a token. Resolves to the status and the body. */
  const token = (clientId: string, clientSecret: string) =>
    server.token({ client_id: clientId, client_secret: clientSecret })

  /** Registers an application. Resolves to its credentials. */
  async function register(): Promise<{ clientId: string; clientSecret: string }> {
    const names = ['--name', 'Store front', '--developer-email', 'dev@partner.example']
    const made = await command('applications', 'register', ...names, '--all-suites')
    const { client_id: clientId, client_secret: clientSecret } = made
    return { clientId, clientSecret }
  }

  return { server, address: server.address, origin, env, command, register, link, token }
}

/** Starts a browser, and a server with its console. */
export async function startBoth(t: Test, settings?: Record<string, string>) {
  const [browser, console] = await Promise.all([startBrowser(t), startConsole(t, settings)])
  return { browser, console }
}

/** Returns a function like `startBoth` that starts one server for all tests, which only read or have data of their own. */
export function startOnce(prepare: (console: Console) => Promise<unknown> = async () => {}) {
  let started: Promise<Console> | undefined
  async function begin() {
    const console = await startConsole(root)
    await prepare(console)
    return console
  }
  return async (t: Test) => {
    started ??= begin()
    return { browser: await startBrowser(t), console: await started }
  }
}

/** Signs an operator in, in a new browser context. Collects errors as `visit` does. */
export async function signIn(
  browser: Browser,
  console: Pick<Console, 'link'>,
  { name = 'anna', ...options }: BrowserContextOptions & { name?: string } = {},
) {
  const visitor = await visit(browser, options)
  const { page } = visitor
  const link = await console.link(name)
  await page.goto(link)
  if (options.javaScriptEnabled === false) {
    await page.getByLabel('Code').fill(link.split('#')[1] as string)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  await page.getByText(`Signed in as ${name}`).waitFor({ state: 'attached' })
  return visitor
}

/** Opens a new browser context and collects its errors in `complaints`. */
export async function visit(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options)
  const complaints = await watch(context)
  return { context, complaints, page: await context.newPage() }
}

/** Collects CSP violations, errors and warnings, and failed requests. */
async function watch(context: BrowserContext): Promise<string[]> {
  const complaints: string[] = []
  await context.exposeBinding('complain', (_source, text: string) => void complaints.push(text))
  await context.addInitScript(() => {
    const { complain } = globalThis as unknown as { complain: (text: string) => void }
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) =>
      complain(`policy: ${violatedDirective} ${blockedURI} ${sourceFile}`),
    )
  })
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`)
  })
  context.on('weberror', (error) => complaints.push(`error: ${error.error().message}`))
  context.on('requestfailed', (request) => {
    const failure = request.failure()?.errorText
    // A request of the overview is aborted when its page closes.
    if (failure !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${failure}`)
  })
  return complaints
}

/** Registers an application in the console, for all suites. Resolves to its credentials. */
export async function registerApplication(page: Page, origin: string) {
  await page.goto(`${origin}/new-application`)
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Store front')
  await page.getByLabel('Developer email').fill('dev@partner.example')
  for (const suite of await page.locator('[name=suite]').all()) await suite.check()
  await page.getByRole('button', { name: 'Register' }).click()
  return shownCredentials(page)
}

/** The new credentials that a page shows. */
export async function shownCredentials(page: Page) {
  const values = page.getByRole('group', { name: 'New credentials' }).locator('code')
  await values.first().waitFor()
  const [clientId = '', clientSecret = ''] = await values.allTextContents()
  return { clientId, clientSecret }
}

/** Makes a new secret on the page of an application or a suite. Resolves to the credentials. */
export async function makeSecret(page: Page, { clicks = 1 } = {}) {
  const form = page.locator('form[action$="/secrets"]')
  await page.locator('details', { has: form }).locator('summary').click()
  await form.locator('button:not([type=button], [formaction])').click({ clickCount: clicks })
  return shownCredentials(page)
}

/** Clicks a button that asks for confirmation, and confirms, with the name if it asks for that. Resolves when the next page has loaded. */
export async function confirm(page: Page, label: string): Promise<void> {
  const question = page.locator('summary', { hasText: `${label}…` })
  await question.first().click()
  const typed = page.locator('form:visible [name=typed_name]')
  if (await typed.isVisible()) await typed.fill(String(await page.locator('form:visible label bdi').textContent()))
  const answer = page.waitForResponse((response) => response.request().method() === 'POST')
  await page.locator('form:visible').getByRole('button', { name: label, exact: true }).click()
  await answer
  await page.waitForLoadState()
}
