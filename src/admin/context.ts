import type { Administration, Conditions } from '../administration/administration.ts'
import type { IdentityProvider } from '../administration/identity-provider.ts'
import type { SignIn } from '../administration/sign-in.ts'
import type { Author } from '../domain/audit-event.ts'
import type { Observer } from '../domain/events.ts'
import type { Clock } from '../domain/time.ts'
import type { StatisticsSource } from '../views/statistics.ts'

export interface AdminContext {
  now: Clock
  observe: Observer
  /** Returns the administration on behalf of an author, who is recorded with each change. */
  administration: (author: Author, conditions?: Conditions) => Administration
  signIn: SignIn
  /** Undefined if operators sign in with links only. */
  provider: IdentityProvider | undefined
  statistics: StatisticsSource
  about: About
  /** The URL at which operators reach the listener through a proxy, without a trailing slash. */
  adminUrl: string | undefined
  /** The host that the listener is bound to. Undefined for a Unix socket or all addresses. */
  boundHost: string | undefined
  /** Addresses and CIDR ranges of proxies whose X-Forwarded-For is trusted if a request names adminUrl; false for none. */
  trustProxy: false | string[]
  /** How to get a login link if the command line cannot reach the store. Undefined if it can. */
  howToSignIn: string | undefined
}

export interface About {
  version: string
  node: string
  store: 'SQLite' | 'PostgreSQL'
  /** Milliseconds since the epoch. */
  startedAt: number
  /** Tells this installation from others, such as production. */
  installation: { name: string; color: string } | undefined
  /** How many tokens an application without a quota of its own may get in a clock hour. Undefined if that is not limited. */
  tokenQuota: number | undefined
  urls: {
    /** Where clients reach this server. */
    publicUrl: string
    /** Where suites reach introspection. */
    introspectionUrl: string
    /** The documentation for developers. */
    docsUrl: string | undefined
    /** The ops listener. */
    opsUrl: string | undefined
  }
  /** The settings with their values as text, without passwords. */
  settings: readonly { name: string; value: string; meaning: string }[]
}
