import type { Bench, Findings, Section } from '../bench.ts'
import type { Contender } from '../measure.ts'
import { tokenRequest } from '../requests.ts'
import { peerClient } from '../servers/peer-client.ts'
import { checkSample, checkTokens, isActive, isVerified } from '../tokens.ts'

/** Tokens a second: this server, what Fastify and Node.js can do at most, and others. */
export const issuance: Section = {
  name: 'issuance',
  title: 'Issuing tokens, 64 connections',
  contenders: 7,
  preparation: 6,
  run,
}

const CONNECTIONS = 64
const base = 'constant Fastify'

async function run(bench: Bench): Promise<Findings> {
  const data = bench.data('issuance')
  const application = data.applications[0]
  const ours = await bench.ours(data)
  const groups: Contender['groups'] = [bench.group(CONNECTIONS, [tokenRequest(application)])]
  const rows = await bench.measure([
    { name: 'this server', server: ours, groups, base, after: () => checkSample(ours.port, application) },
    { name: base, server: await bench.other('constant'), groups },
    { name: 'bare node:http', server: await bench.other('bare', { path: '/' }), groups, base },
    await oauth2Server(bench, 'in memory'),
    await oauth2Server(bench, 'durable'),
    await oidcProvider(bench, 'in memory'),
    await oidcProvider(bench, 'durable'),
  ])
  return {
    rows,
    notes: ['Durable: in a SQLite file, on disk before the answer. In memory: lost when the process ends.'],
  }
}

async function oauth2Server(bench: Bench, store: Store): Promise<Contender> {
  const name = `oauth2-server ${store}`
  const server = await bench.other('oauth2-server', { env: { STORE: storeOf(bench, store, name) } })
  const isGood = (token: string) => isVerified(server.port, token, '/verify')
  return peer(bench, { name, server, path: '/token', isGood })
}

async function oidcProvider(bench: Bench, store: Store): Promise<Contender> {
  const name = `oidc-provider ${store}`
  const path = '/.well-known/openid-configuration'
  const server = await bench.other('oidc-provider', { env: { STORE: storeOf(bench, store, name) }, path })
  const isGood = (token: string) => isActive(server.port, peerClient, token, '/token/introspection')
  return peer(bench, { name, server, path: '/token', isGood })
}

type Store = 'in memory' | 'durable'

function storeOf(bench: Bench, store: Store, name: string): string {
  return store === 'in memory' ? 'memory' : bench.file(`${name}.db`)
}

interface Peer extends Pick<Contender, 'name' | 'server'> {
  path: string
  isGood: (token: string) => Promise<boolean>
}

function peer(bench: Bench, { name, server, path, isGood }: Peer): Contender {
  return {
    name,
    server,
    base,
    groups: [bench.group(CONNECTIONS, [tokenRequest(peerClient, path)])],
    after: () => checkTokens(server.port, peerClient, { path, isGood }),
  }
}
