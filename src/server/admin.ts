import type { Config } from '../config.ts'
import type { Clock } from '../domain/clock.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import { describe } from './about.ts'

export type AdminConfig = Pick<Config, 'ADMIN_ADDRESS' | 'ADMIN_URL' | 'TRUST_PROXY' | 'DATABASE_URL'>

/** Where operators administer the server. */
export interface Admin {
  /** Undefined: nowhere. */
  address: string | undefined
  close(): Promise<void>
}

interface AdminOptions {
  store: Store
  observe: Observer
  now?: Clock
}

const NOWHERE: Admin = { address: undefined, close: async () => {} }

/** The addresses that stand for all of a machine: no name of the listener. */
const EVERYWHERE = ['0.0.0.0', '::']

/** The admin listener, where ADMIN_ADDRESS says. Throws OperatorError where it cannot listen. */
export async function startAdmin(
  config: AdminConfig,
  { store, observe, now = Date.now }: AdminOptions,
): Promise<Admin> {
  const { ADMIN_ADDRESS: place, ADMIN_URL: adminUrl, TRUST_PROXY: trustProxy } = config
  if (!place) return NOWHERE
  // They take a while to load, and only here they are needed.
  const { buildAdminApp } = await import('../admin/app.ts')
  const { listenForAdmin } = await import('../admin/listener.ts')
  const { createAdministration } = await import('../administration/administration.ts')
  const { createSignIn } = await import('../administration/sign-in.ts')

  const app = await buildAdminApp({
    store,
    now,
    observe,
    administration: (author) => createAdministration({ store, now, observe, author }),
    signIn: createSignIn({ store, now, observe }),
    about: describe(config, now()),
    adminUrl,
    boundHost: 'socket' in place || EVERYWHERE.includes(place.host) ? undefined : place.host,
    trustProxy,
  })
  try {
    const address = await listenForAdmin(app, place)
    return { address, close: () => app.close() }
  } catch (error) {
    await app.close()
    throw error
  }
}
