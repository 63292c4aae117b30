import { CERTIFIED_LISTENERS } from '../domain/events.ts'
import type { EndingSecret, ServerNode, Trouble } from '../domain/statistics.ts'
import { type ApplicationCounts, type Counts, PERIOD_NAMES, type Period } from '../domain/usage.ts'
import { choice, flag, list, object, real, type SourceOf, text, time, whole } from './schema.ts'

const LATENCY = object('Latency', 'How long requests took; null if there were none', {
  p50_seconds: real('The median'),
  p99_seconds: real('The 99th percentile'),
}).nullable()

const TRAFFIC = object('Traffic', 'What the server did in a period', {
  tokens: whole('How many tokens were issued'),
  active_checks: whole('How many checks found the token active'),
  inactive_checks: whole('How many checks found the token not active'),
  refusals: whole('How many requests other than checks were refused'),
  failures: whole('How many requests failed, with a status of 5xx'),
  token_latency: LATENCY,
  check_latency: LATENCY,
})

const MINUTE = object('Minute', 'One minute', {
  ended_at: time('When it ended'),
  traffic: TRAFFIC.nullable().meta({
    title: 'MinuteTraffic',
    description: 'What the server did in it; null if it was not running, or was blocked',
  }),
})

const REFUSED_FOR = object('RefusedFor', 'A reason for refusals, inactive checks or failures', {
  kind: choice(['authentication', 'request', 'check', 'failure'], 'What was refused; failure: answered with 5xx'),
  reason: text('The real reason, as in the log'),
  count: whole('How many times'),
})

const OUTAGE = object(
  'Outage',
  'A period in which requests were answered with 503 because the database did not answer',
  {
    began_at: time('When the first of them was answered'),
    ended_at: time('When the last of them was answered, so far'),
    failures: whole('How many'),
  },
)

const LIVE_TOKENS = object('LiveTokens', 'Tokens that are valid now', {
  count: whole('How many'),
  is_exact: flag('false if the number is an estimate'),
})

const ENDING_SECRET = object(
  'EndingSecret',
  'An application or a suite that will lose its last secret, or the one that it still uses',
  {
    kind: choice(['application', 'suite'], 'Its kind'),
    id: text('Its client id or id'),
    name: text('Its name'),
    ends_at: time('When that secret ends'),
  },
)

const ENDING_SECRETS = object('EndingSecrets', 'Applications and suites that will soon have no active secret', {
  in_a_day: whole('How many within a day'),
  in_a_week: whole('How many within a week'),
  next: list(
    'Some of them, and some that have another secret but still use one that will end; earliest end first',
    ENDING_SECRET,
  ),
})

const CERTIFICATE = object('Certificate', 'The TLS certificate of a listener', {
  listener: choice(CERTIFIED_LISTENERS, 'Its listener'),
  ends_at: time('When it expires'),
  problem: text('Why the certificate in its files cannot be used; null if it can be').nullable(),
})

const ISSUER = object('Issuer', 'An issuer of federated credentials whose keys could not be fetched', {
  issuer: text('Its URL'),
  problem: text('Why not'),
  fetched_at: time('When its keys were last fetched, which are used for 24 hours; null if never').nullable(),
})

const WORKER = object('Worker', 'A process, in the last second', {
  worker: whole('Its number'),
  cpu_seconds: real('The CPU time that it used'),
  resident_bytes: whole('The memory that it uses'),
  lag_seconds: real('The longest delay of its event loop'),
})

const WORKERS = object('Workers', 'The processes that answer requests', {
  expected: whole('How many there should be'),
  serving: whole('How many of them are answering requests'),
  each: list('Those that have reported', WORKER),
})

const NODE = object('Node', 'A server, as it was when it last reported; it reports every ten seconds', {
  name: text('The name of its machine and its port'),
  version: text('Its version'),
  started_at: time('When it started'),
  last_seen_at: time('When it last reported'),
  is_this: flag('Whether this server is the one that answers'),
  is_gone: flag('Whether it has not reported for 30 seconds'),
  workers: object('NodeWorkers', 'The processes that answer requests', {
    expected: whole('How many there should be'),
    serving: whole('How many answered requests'),
  }),
  last_minute: object('NodeMinute', 'What it did in the minute before it reported', {
    tokens: whole('How many tokens it issued'),
    checks: whole('How many checks it answered'),
    refusals: whole('How many requests it refused'),
  }),
})

const STORE = object('Store', 'The database', {
  kind: choice(['sqlite', 'postgres'], 'Its kind'),
  is_up: flag('Whether it can be read and written, and its clock agrees with that of this machine'),
  can_write: flag(
    'Whether it can be written: if not, no token can be issued, nothing can be changed, and nobody can sign in',
  ),
  can_check: flag('Whether it can be read, so that tokens can be checked'),
  problem: text('Why is_up is false, and what to do; null if it is true').nullable(),
  database_bytes: whole('The size of the database').nullable(),
  log_bytes: whole('The size of its write-ahead log, on SQLite').nullable(),
  last_backup_at: time('When the last backup was made').nullable(),
  audit_head: object(
    'AuditHead',
    'The newest audit event. A copy elsewhere shows later whether the audit trail was rewritten',
    {
      id: whole('Its id'),
      at: time('Its time'),
      hash: text('Its hash, which depends on all events before it'),
    },
  ).nullable(),
})

export const STATISTICS = object('Statistics', 'The figures of the server. null means unknown', {
  at: time('The time of these figures'),
  started_at: time('When the server started'),
  version: text('Its version'),
  last_minute: TRAFFIC,
  last_hour: TRAFFIC,
  minutes: list('The minutes of the last hour, oldest first; the last entry is the 60 seconds up to now', MINUTE),
  refusals: list('The reasons in the last hour, most frequent first', REFUSED_FOR),
  outages: list('The last outages, oldest first; those before the start only if they were stored', OUTAGE),
  live_tokens: LIVE_TOKENS.nullable(),
  ending_secrets: ENDING_SECRETS.nullable(),
  certificates: list('The TLS certificates that this server shows; empty if it speaks plain HTTP', CERTIFICATE),
  issuers: list('The issuers of federated credentials whose keys could not be fetched', ISSUER),
  workers: WORKERS,
  nodes: list(
    'The servers on this PostgreSQL database that have an admin or ops listener or notices, by name; empty on SQLite',
    NODE,
  ),
  store: STORE,
})

const COUNTS = {
  tokens: whole('Tokens issued to it; always 0 for a suite'),
  checks: whole('Checks that found its tokens valid; for a suite, the valid checks and introspections there'),
  refusals: whole('Requests that were refused, and checks that found a token not valid'),
}

export const USAGE = object('Usage', 'What an application or a suite did, on all nodes, up to a minute late', {
  period: choice(PERIOD_NAMES, 'The period, up to now'),
  step_seconds: whole('The length of each point'),
  ...COUNTS,
  points: list(
    'The parts of the period, oldest first; the last one is not over yet',
    object('UsagePoint', 'What it did in a part of the period', { since: time('When it began'), ...COUNTS }),
  ),
})

export type Usage = Omit<SourceOf<typeof USAGE>, 'period'>

type Figures = SourceOf<typeof STATISTICS>
type WithoutNull<Value> = { readonly [Name in keyof Value]: Exclude<Value[Name], null> }

/** The state and traffic of a server. Undefined if unknown. */
export interface Statistics extends WithoutNull<Omit<Figures, 'nodes' | 'store' | 'endingSecrets'>> {
  /** The name of this server: its machine and its port. */
  readonly name: string
  readonly store: WithoutNull<Figures['store']>
  /** The last ten minutes, as a sliding 60-second window that moves by ten seconds. */
  readonly lastTenMinutes: readonly Minute[]
  readonly endingSecrets: EndingSecrets | undefined
  readonly nodes: readonly NodeStatistics[]
  readonly trouble: Trouble | undefined
  /** The applications that got many tokens in the last 60 minutes, on all nodes, most tokens first. */
  readonly heavy: readonly Pick<ApplicationCounts, 'clientId' | 'name' | 'tokens'>[]
  /** In the first hour after the start, what all applications did in the last hour, on all nodes, up to two minutes late. */
  readonly stored: Counts
  /** What all clients did in each of the last 26 clock hours, on all nodes, oldest first; the last one is not over yet. */
  readonly hours: Usage['points'] | undefined
}

export type StoreState = Pick<Statistics['store'], 'isUp' | 'canWrite' | 'canCheck' | 'problem'>

export type Traffic = SourceOf<typeof TRAFFIC>
export type Latency = Traffic['tokenLatency']
export type Minute = SourceOf<typeof MINUTE>
export type RefusedFor = SourceOf<typeof REFUSED_FOR>
export type Outage = SourceOf<typeof OUTAGE>
export type LiveTokens = SourceOf<typeof LIVE_TOKENS>
export type EndingSecrets = Omit<SourceOf<typeof ENDING_SECRETS>, 'next'> & { readonly next: readonly EndingSecret[] }
export type WorkerStatistics = SourceOf<typeof WORKER>

export type NodeStatistics = ServerNode & Pick<SourceOf<typeof NODE>, 'isThis' | 'isGone'>

/** `heavy`: client ids. */
export type ApplicationStates = { readonly heavy: readonly string[] } & Readonly<
  Record<'all' | 'quiet' | 'suspended', number>
>

export interface StatisticsSource {
  /** Resolves soon even if the store or a worker hangs: missing values are those of the last call, or undefined. */
  read(): Promise<Statistics>
  /** Only the `trouble` of `read`, up to 5 seconds late. It is read anew for another `version` of the registry. */
  readTrouble(version?: unknown): Promise<Trouble | undefined>
  /** Only the `outages` of `read`. */
  outages(): readonly Outage[]
  /** What each active application did in a period, a minute or two late. Resolves soon; undefined if not known yet. */
  readUsage(period: Period): Promise<readonly ApplicationCounts[] | undefined>
  /**
   * Which applications are heavy, and how many are quiet or suspended, up to 15 seconds late. They are counted anew for another `version`
   * of the registry. Resolves soon; undefined if not known yet.
   */
  readStates(version?: unknown): Promise<ApplicationStates | undefined>
}
