import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Store } from '../domain/store.ts'
import { buildApp } from '../http/app.ts'
import { createProxies } from '../http/wire/proxies.ts'
import { createFailures } from '../issuer/failures.ts'
import { createIssuer } from '../issuer/issuer.ts'
import type { Telemetry } from './telemetry.ts'
import { startUsageLoop } from './usage-loop.ts'

export type ListenConfig = Pick<
  Config,
  'HOST' | 'PORT' | 'TRUST_PROXY' | 'CONNECTION_LIMIT' | 'FAILURE_LIMIT' | 'TOKEN_QUOTA' | 'PUBLIC_URL'
>

/** Answers requests for a store. Throws OperatorError where it cannot listen. Closing is the caller's. */
export async function listenAndServe(
  store: Store,
  { observe, observeDetails }: Pick<Telemetry, 'observe' | 'observeDetails'>,
  { HOST, PORT, TRUST_PROXY, CONNECTION_LIMIT, FAILURE_LIMIT, TOKEN_QUOTA, PUBLIC_URL }: ListenConfig,
): Promise<{ app: FastifyInstance; address: string }> {
  const proxies = createProxies({ trustProxy: TRUST_PROXY, observe })
  const failures = createFailures({
    isLimited: FAILURE_LIMIT,
    isShared: proxies.isShared,
    monotonic: () => performance.now(),
  })
  const issuer = createIssuer({ store, now: Date.now, failures, tokenQuota: TOKEN_QUOTA })
  const app = await buildApp({
    issuer,
    observe,
    observeDetails,
    proxies,
    trustProxy: TRUST_PROXY,
    connectionLimit: CONNECTION_LIMIT,
    publicUrl: PUBLIC_URL,
  })
  let usageLoop: ReturnType<typeof startUsageLoop> | undefined
  app.addHook('onClose', () => usageLoop?.stop())
  const address = await listen(app, HOST, PORT).catch((cause: Error) => {
    throw new OperatorError(`Cannot listen on port ${PORT} of ${HOST}: ${cause.message}.`, { cause })
  })
  usageLoop = startUsageLoop({ issuer, observe })
  return { app, address }
}

/**
 * Resolves to where the app listens, as a URL. Fastify would listen on all addresses of `localhost`, with servers that have
 * none of the app's listeners; and it calls every address of the machine 127.0.0.1.
 */
async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  const { address } = await lookup(host, { order: 'ipv4first' })
  await app.listen({ host: address, port })
  const bound = app.server.address() as AddressInfo
  return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`
}
