import type { Administration } from '../administration/administration.ts'
import type { SignIn } from '../administration/sign-in.ts'
import type { Author } from '../domain/audit-event.ts'
import type { Clock } from '../domain/clock.ts'
import type { Observer } from '../domain/events.ts'
import type { StatisticsSource } from '../domain/statistics.ts'
import type { Store } from '../domain/store.ts'

/** What both halves of the admin listener, the API and the console, work with. */
export interface AdminContext {
  store: Store
  now: Clock
  observe: Observer
  /** What an operator can do; the author is who is said to have done it. */
  administration: (author: Author) => Administration
  signIn: SignIn
  statistics: StatisticsSource
  about: About
  /** Where operators reach the listener through a proxy, without a slash at the end. */
  adminUrl: string | undefined
  /** The host that it listens on, where that is a name or an address of its own. */
  boundHost: string | undefined
  /** The proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges. False: none. */
  trustProxy: false | string[]
  /** What operators do to get a login link, where no command reaches the store. Undefined: run `token-server console`. */
  howToSignIn: string | undefined
}

/** What runs here. */
export interface About {
  version: string
  /** Of Node.js. */
  node: string
  store: 'SQLite' | 'PostgreSQL'
  /** Milliseconds since the epoch. */
  startedAt: number
  /** Every setting with its value as text; never a password. */
  settings: readonly { name: string; value: string; meaning: string }[]
}
