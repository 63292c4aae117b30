import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { About } from '../admin/context.ts'
import { listenForAdmin } from '../admin/listener.ts'
import { type AdminServer, createAdminServer } from '../admin/server.ts'
import type { IdentityProvider } from '../administration/identity-provider.ts'
import { type Config, handOverUrl, introspectionUrl, providerSettings, settings } from '../config.ts'
import { locationText } from '../domain/database-location.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import type { Listener } from '../ops/listener.ts'
import { NODE_VERSION, VERSION } from '../version.ts'
import { hostInUrl, isWildcard } from '../web/address.ts'
import type { Certificates } from './certificates.ts'
import { onDemand } from './on-demand.ts'
import type { RunningStatistics } from './statistics.ts'

export type AdminConfig = Config & {
  /** See AdminContext. */
  howToSignIn?: string
}

/** Starts the admin listener on ADMIN_ADDRESS; undefined if it is off. Throws OperatorError if it cannot listen. */
export async function startAdmin(
  config: AdminConfig,
  {
    store,
    observe,
    statistics,
    certificates,
  }: { store: Store; observe: Observer; statistics: RunningStatistics | undefined; certificates: Certificates },
): Promise<Listener | undefined> {
  const { ADMIN_ADDRESS: place, ADMIN_URL: adminUrl, TRUST_PROXY: trustProxy } = config
  if (!place || !statistics) return undefined
  const context = { store, now: Date.now, observe }
  const tls = certificates.tlsOf('admin')
  const about = describe(config, Date.now())
  let app: FastifyInstance | undefined
  const server: AdminServer = createAdminServer(() => loadApp(), observe, tls)
  // Loaded when an operator comes, because these modules are large.
  const loadApp = await onDemand(config, async () => {
    // Token requests have their turn in between.
    const { createSignIn } = await import('../administration/sign-in.ts')
    await turn()
    const { createAdministration } = await import('../administration/administration.ts')
    await turn()
    const { buildAdminApp } = await import('../admin/app.ts')
    await turn()
    const built = await buildAdminApp(
      {
        now: Date.now,
        observe,
        administration: (author, conditions) =>
          createAdministration({
            ...context,
            author,
            conditions,
            handOverUrl: handOverUrl(config),
            publicUrl: config.PUBLIC_URL,
          }),
        signIn: createSignIn({ ...context, onlyProvider: config.OPERATORS === 'provider' }),
        provider: await loadProvider(config),
        statistics,
        about,
        adminUrl,
        boundHost: 'socket' in place || isWildcard(place.host) ? undefined : place.host,
        trustProxy,
        howToSignIn: config.howToSignIn,
      },
      server,
    )
    await turn()
    await built.ready()
    app = built
    return app
  })
  const close = async () => app?.close() ?? server.close()
  const address = await listenForAdmin(server.server, place, tls && 'https').catch(async (error) => {
    await close()
    throw error
  })
  return { address, close }
}

/** The identity provider, if there is one. Its library is loaded only if needed. */
async function loadProvider(config: Config): Promise<IdentityProvider | undefined> {
  const settings = providerSettings(config)
  if (!settings) return undefined
  const { createIdentityProvider } = await import('../administration/identity-provider.ts')
  return createIdentityProvider(settings, Date.now)
}

const STORES = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

/** Describes the server for the console: versions, and the given settings without passwords. */
export function describe(config: Partial<Config> & Pick<Config, 'DATABASE_URL'>, startedAt: number): About {
  const { PUBLIC_URL = '', DOCS_URL, OPS_ADDRESS, OPS_TLS_CERT_FILE, TOKEN_QUOTA } = config
  const { INSTALLATION_NAME: name, INSTALLATION_COLOR: color = 'gray' } = config
  const opsUrl = OPS_ADDRESS && `${OPS_TLS_CERT_FILE ? 'https' : 'http'}://${textOf(OPS_ADDRESS, 'off')}`
  const names = Object.keys(settings) as (keyof typeof settings)[]
  return {
    version: VERSION,
    node: NODE_VERSION,
    store: STORES[config.DATABASE_URL.kind],
    startedAt,
    tokenQuota: TOKEN_QUOTA && Number.isFinite(TOKEN_QUOTA.tokens) ? TOKEN_QUOTA.tokens : undefined,
    installation: name === undefined ? undefined : { name, color },
    urls: { publicUrl: PUBLIC_URL, introspectionUrl: introspectionUrl(config), docsUrl: DOCS_URL, opsUrl },
    settings: names
      .filter((name) => name in config)
      .map((name) => ({ name, value: textOf(config[name], settings[name].default), meaning: settings[name].meaning })),
  }
}

function textOf(value: Config[keyof Config] | undefined, defaultText: string): string {
  if (value === undefined) return defaultText
  if (value === Infinity || value === false) return 'off'
  if (value === true) return 'on'
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object') return String(value)
  if ('tokens' in value) return `${textOf(value.tokens, '')}${value.isReportOnly ? ',report-only' : ''}`
  if ('claim' in value) return `${value.claim}=${value.values.join(',')}`
  if ('kind' in value) return value.kind === 'sqlite' ? `sqlite:${value.file}` : locationText(value)
  return 'socket' in value ? `unix:${value.socket}` : `${hostInUrl(value.host)}:${value.port}`
}
