import type { Bench, Running } from '../bench.ts'
import { cpuRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { peerClient } from '../servers/peer.ts'
import { atMost } from '../targets.ts'
import { tokenRequest } from '../world/requests.ts'
import type { Server } from '../world/server-process.ts'
import { assertIssuesTokens, isActive, passesVerify, type TokenSource } from '../world/single-requests.ts'

/** Tokens per second: this server, constant answers, and other token servers. */
export const issuance = defineSection({
  name: 'issuance',
  title: 'Issuing tokens, 64 connections',
  contenders: 9,
  others: 1,
  preparation: 6,
  run,
  targets: [
    {
      asked: 'at most 0.85 of the CPU time of the simplest durable issuer on Fastify',
      value: ({ ours, simplestFastify }) => cpuRatio(ours, simplestFastify),
      isMet: atMost(0.85),
    },
    {
      asked: 'at most 0.85 of the CPU time of the simplest durable issuer on node:http',
      value: ({ ours, simplestBare }) => cpuRatio(ours, simplestBare),
      isMet: atMost(0.85),
    },
    {
      asked: 'p99 at most 3 times that of the simplest durable issuer on Fastify',
      value: ({ ours, simplestFastify }) => ours.p99 / simplestFastify.p99,
      isMet: atMost(3),
    },
    {
      asked: 'at most 0.3 of the CPU time of oauth2-server durable',
      value: ({ ours, oauth2ServerDurable }) => cpuRatio(ours, oauth2ServerDurable),
      isMet: atMost(0.3),
    },
    {
      asked: 'at most 0.2 of the CPU time of oidc-provider durable',
      value: ({ ours, oidcProviderDurable }) => cpuRatio(ours, oidcProviderDurable),
      isMet: atMost(0.2),
    },
    {
      asked: 'at most the CPU time of oauth2-server in memory',
      value: ({ ours, oauth2ServerInMemory }) => cpuRatio(ours, oauth2ServerInMemory),
      isMet: atMost(1),
    },
    {
      asked: 'at most the CPU time of oidc-provider in memory',
      value: ({ ours, oidcProviderInMemory }) => cpuRatio(ours, oidcProviderInMemory),
      isMet: atMost(1),
    },
  ],
  plots: [
    { file: 'issuance.svg', title: 'Tokens per second, 64 connections, one core', bars: 'speed' },
    { file: 'latency.svg', title: 'Latency of a token in milliseconds, 64 connections, one core', bars: 'latency' },
  ],
})

const CONNECTIONS = 64
const base = 'simplestFastify' as const

async function run(bench: Bench) {
  const { ours, other } = await bench.versions('issuance')
  const own = contenderOf(bench, ours)
  const { groups } = own
  const rows = await bench.measure({
    ours: { name: 'this server', ...own, base, other: other && contenderOf(bench, other) },
    simplestFastify: await simplest(bench, 'fastify', 'simplest on Fastify'),
    simplestBare: { ...(await simplest(bench, 'bare', 'simplest on node:http')), base },
    constant: { name: 'constant Fastify', server: await bench.constant(), groups, base },
    bare: { name: 'bare node:http', server: await bench.constant('bare', { path: '/' }), groups, base },
    oauth2ServerInMemory: await oauth2Server(bench, 'in memory'),
    oauth2ServerDurable: await oauth2Server(bench, 'durable'),
    oidcProviderInMemory: await oidcProvider(bench, 'in memory'),
    oidcProviderDurable: await oidcProvider(bench, 'durable'),
  })
  const notes = [
    'Simplest: one application, tokens in a SQLite file, on disk before the answer; nothing else (lab/bench/servers/simplest).',
    'Durable: in a SQLite file, on disk before the answer. In memory: lost when the process exits.',
  ]
  return { rows, notes }
}

function contenderOf(bench: Bench, { server, data }: Running) {
  const application = data.applications[0]
  const isValid = (accessToken: string) => passesVerify(server.port, accessToken)
  return {
    server,
    ...bench.load(CONNECTIONS, [tokenRequest(application)]),
    after: () => assertIssuesTokens({ port: server.port, application, isValid }),
  }
}

async function simplest(bench: Bench, on: 'fastify' | 'bare', name: string) {
  const server = await bench.simplest(on)
  return {
    name,
    server,
    ...bench.load(CONNECTIONS, [tokenRequest(peerClient)]),
    after: () =>
      assertIssuesTokens({
        port: server.port,
        application: peerClient,
        isValid: (accessToken) => passesVerify(server.port, accessToken),
      }),
  }
}

type Store = 'in memory' | 'durable'

async function oauth2Server(bench: Bench, store: Store) {
  const name = `oauth2-server ${store}`
  const server = await bench.peer('oauth2-server', { env: environment(bench, store, name) })
  const isValid = (accessToken: string) => passesVerify(server.port, accessToken, '/verify')
  return peer(bench, { name, server, isValid })
}

async function oidcProvider(bench: Bench, store: Store) {
  const name = `oidc-provider ${store}`
  const path = '/.well-known/openid-configuration'
  const server = await bench.peer('oidc-provider', { env: environment(bench, store, name), path })
  const isValid = (accessToken: string) => isActive(server.port, peerClient, accessToken, '/token/introspection')
  return peer(bench, { name, server, isValid })
}

function environment(bench: Bench, store: Store, name: string) {
  return { STORE: store === 'in memory' ? 'memory' : bench.file(`${name}.db`) }
}

interface Peer extends Pick<TokenSource, 'isValid'> {
  name: string
  server: Server
}

function peer(bench: Bench, { name, server, isValid }: Peer) {
  const path = '/token'
  return {
    name,
    server,
    base,
    ...bench.load(CONNECTIONS, [tokenRequest(peerClient, path)]),
    after: () => assertIssuesTokens({ port: server.port, application: peerClient, path, isValid }),
  }
}
