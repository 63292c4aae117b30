import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { type Gateway, startGateway, testEachGateway, untilItAnswers } from '../support/gateways.ts'
import { needs } from '../support/needs.ts'
import { runProgram } from '../support/run-program.ts'
import { send } from '../support/send.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorldOfSuites } from '../support/world.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/mcp.md'), 'utf8')

/** What the page tells to write for each library. */
const LINES = new Map(
  [...PAGE.matchAll(/^\| `([^`]+)` \(\w+\) \| `(.*)` \|$/gm)].map(([, name, line = '']) => [name, line]),
)

/** What it tells to add to the example of each gateway, and before what. */
const ADDITIONS: Record<string, [language: string, before: RegExp]> = {
  nginx: ['nginx', /^ {8}location \/ \{\n/m],
  caddy: ['caddyfile', /^\t\terror 404\n/m],
  envoy: ['yaml', /^ {24}- match: \{ path_separated_prefix: \/store \}\n/m],
}

/** The example with what the page adds, for the suite `store` at the path /store. */
const edited = ({ name }: Gateway) => {
  const [language, before] = ADDITIONS[name] as [string, RegExp]
  const [, added = ''] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(PAGE) ?? []
  const ofStore = added.replaceAll(/(?<=protected-resource)\/(mcp|tools)/g, '/store')
  return (example: string) => {
    const [line = ''] = before.exec(example) ?? []
    const indent = /^\s*/.exec(line)?.[0] ?? ''
    return example.replace(line, `${ofStore.replaceAll(/^(?=.)/gm, indent)}${line}`)
  }
}

/** An MCP server with one tool, which says who calls it, and a client that lists and calls it. */
const PROGRAMS = {
  'server.mjs': `
    import { createServer } from 'node:http'
    import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
    import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
    createServer(async (request, response) => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const server = new McpServer({ name: 'tools', version: '1.0.0' })
      const text = 'Hello, ' + request.headers['x-client-id']
      server.registerTool('greet', { description: 'Greets' }, () => ({ content: [{ type: 'text', text }] }))
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      await server.connect(transport)
      await transport.handleRequest(request, response)
    }).listen(process.env.PORT, '127.0.0.1')`,
  'client.mjs': `
    import { Client } from '@modelcontextprotocol/sdk/client/index.js'
    import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
    import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
    const { URL_: url, ISSUER: issuer, ID: id, SECRET: secret } = process.env
    ${LINES.get('@modelcontextprotocol/sdk')}
    const client = new Client({ name: 'client', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }))
    const { tools } = await client.listTools()
    const { content } = await client.callTool({ name: tools[0].name })
    console.log(tools[0].name, content[0].text)
    await client.close()`,
  'client.py': `
import asyncio, os
import httpx2
from mcp import ClientSession
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client

url, issuer, id, secret = (os.environ[name] for name in ("URL_", "ISSUER", "ID", "SECRET"))

class Storage:
    tokens = None
    async def get_tokens(self):
        return self.tokens
    async def set_tokens(self, tokens):
        self.tokens = tokens
    async def get_client_info(self):
        return None
    async def set_client_info(self, client_info):
        pass

async def main():
    storage = Storage()
    ${LINES.get('mcp')}
    async with httpx2.AsyncClient(auth=auth) as http, streamable_http_client(url, http_client=http) as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            content = (await session.call_tool(tools[0].name, {})).content
            print(tools[0].name, content[0].text)

asyncio.run(main())`,
}

const LIBRARIES = [
  { library: '@modelcontextprotocol/sdk', needs: 'npm', start: ['node', 'client.mjs'] },
  { library: 'mcp', needs: 'python3', start: ['venv/bin/python', 'client.py'] },
] as const

const INSTALL = `npm install --silent --no-save @modelcontextprotocol/sdk@1.32.2
  python3 -m venv venv && venv/bin/pip install --quiet mcp==2.3.0`

const skip = needs('npm') || needs('python3')
const folder = temporaryFolder(t)

t.test('MCP: the libraries are installed, and the page has a line for each', { skip }, async (t) => {
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, name), text)
  const { status, err } = await runProgram('sh', ['-ec', INSTALL], { cwd: folder })
  t.equal(status, 0, err)
  t.strictSame(
    [...LINES.keys()],
    LIBRARIES.map(({ library }) => library),
  )
})

/** The MCP server behind a gateway; its suite has a URL, for which one application may get tokens. */
async function createMcpWorld(t: Test, gateway: Gateway) {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const options = { publicUrl: issuer, trustProxy: ['127.0.0.1'], acceptsBasic: true }
  const world = await createWorldOfSuites(t, options)
  await world.app.listen({ port, host: '127.0.0.1' })
  const behind = await startMcpServer(t)
  const front = await startGateway(t, gateway, new URL(issuer).host, edited(gateway), undefined, behind)
  const url = `http://${front.address}/store`
  await world.administration.updateSuite('store', { url })
  const { client_id, client_secret } = world.credentials
  const env = { URL_: url, ISSUER: issuer, ID: client_id, SECRET: client_secret }
  return { ...world, front, issuer, url, env }
}

async function startMcpServer(t: Test): Promise<string> {
  const port = await freePort()
  const server: ChildProcess = spawn('node', ['server.mjs'], {
    cwd: folder,
    env: { ...process.env, PORT: String(port) },
  })
  const address = `127.0.0.1:${port}`
  await untilItAnswers(t, server, 405, () => send(address, '/'))
  return address
}

if (!skip) {
  testEachGateway('MCP clients get a token for an MCP server alone, and use its tool', async (t, gateway) => {
    const { front, issuer, url, env, logged, lines, credentials } = await createMcpWorld(t, gateway)
    for (const { library, start } of LIBRARIES) {
      lines.length = 0
      const [program, ...args] = start
      const { status, out, err } = await runProgram(program, args, { cwd: folder, env })
      t.strictSame([status, out], [0, `greet Hello, ${credentials.client_id}\n`], `${library}: ${err}`)
      const issued = logged().filter(({ msg }) => msg === 'token issued')
      t.match(issued, [{ suite: 'store', authentication: 'basic' }], library)
      t.equal(issued.length, 1)
    }
    const { headers } = await front.send('/store')
    const described = `${issuer}/.well-known/oauth-protected-resource/store`
    t.equal(headers['www-authenticate'], `Bearer realm="${issuer}", resource_metadata="${described}"`)
    const here = await front.send('/.well-known/oauth-protected-resource/store')
    t.match(
      JSON.parse(here.body),
      { resource: url, authorization_servers: [issuer] },
      'RFC 9728 §3: also at its own host',
    )
  })
}
