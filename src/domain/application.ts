import { rangesOf } from '../web/address.ts'
import type { NewSecret, Secret } from './secret.ts'
import { type CamelCase, camelCase, camelCased, randomString } from './text.ts'

// Applications; and keys, labels and notes, which suites have, too.

/** In characters. The ids of suites are shorter. */
export const MAX_CLIENT_ID_LENGTH = 200

/** The texts that every application has, by their names in JSON, which are also their columns. Rules: views/registry.ts. */
export const APPLICATION_COLUMNS = ['name', 'developer_email'] as const

/** The texts that may be empty, by the same names. */
export const OPTIONAL_COLUMNS = ['note', 'managed_by'] as const

/** The lists of texts, by the same names. */
export const LIST_COLUMNS = ['source_addresses', 'public_labels', 'report_only'] as const

/** What an operator can have reported instead of refused. */
export const LIMITS = ['source_addresses', 'quota'] as const

export const TEXT_COLUMNS = [...APPLICATION_COLUMNS, ...OPTIONAL_COLUMNS] as const

export type ApplicationColumn = (typeof APPLICATION_COLUMNS)[number]
export type OptionalColumn = (typeof OPTIONAL_COLUMNS)[number]

type Texts<Column extends string> = { readonly [Name in Column as CamelCase<Name>]: string }

export type ApplicationValues = Texts<ApplicationColumn>
export type ApplicationField = keyof ApplicationValues
export type OptionalTexts = Texts<OptionalColumn>

/** The TypeScript names of TEXT_COLUMNS. */
export const TEXT_FIELDS = TEXT_COLUMNS.map(camelCase) as readonly (ApplicationField | keyof OptionalTexts)[]

/** What operators can add to an application. */
export interface ApplicationExtras extends OptionalTexts {
  readonly labels: Labels
  /** How many tokens it may get in a clock hour; null for TOKEN_QUOTA. */
  readonly quota: number | null
  /** The addresses and CIDR ranges that it may authenticate from; empty for all. */
  readonly sourceAddresses: readonly string[]
  /** The keys of the labels that suites and gateways see. */
  readonly publicLabels: readonly string[]
  /** What is reported instead of refused. */
  readonly reportOnly: readonly (typeof LIMITS)[number][]
}

type Changeable = ApplicationValues & ApplicationExtras

/** An undefined field stays as it is. */
export type ApplicationChanges = { readonly [Field in keyof Changeable]?: Changeable[Field] | undefined }

/** Texts of an application by their columns. */
export function columnsOf<Fields extends ApplicationChanges, Column extends string = ApplicationColumn>(
  fields: Fields,
  columns: readonly Column[] = APPLICATION_COLUMNS as readonly string[] as readonly Column[],
) {
  const texts = columns.map((column) => [column, fields[camelCase(column) as keyof Fields]])
  return Object.fromEntries(texts) as Record<Column, Fields[CamelCase<Column> & keyof Fields]>
}

export function extrasOf(changes: ApplicationChanges): ApplicationExtras {
  const { labels = {}, quota = null, sourceAddresses = [], publicLabels = [], reportOnly = [], ...texts } = changes
  const given = Object.entries(columnsOf(texts, OPTIONAL_COLUMNS)).map(([column, text = '']) => [column, text])
  const optional = camelCased<OptionalTexts>(Object.fromEntries(given))
  return { labels, ...optional, quota, sourceAddresses, publicLabels, reportOnly }
}

/** A registered client (RFC 6749 §2): a partner's application, allowed to ask for access tokens. */
export interface Application extends ApplicationValues, ApplicationExtras {
  /** Never reused, so a removed application's tokens stay invalid if its client id is registered again. */
  readonly key: ApplicationKey
  readonly clientId: string
  readonly status: 'active' | 'suspended'
  /** Tokens of an earlier generation are revoked. Revoke-all increments this number, so it needs no clock. */
  readonly tokenGeneration: number
  /** When revoke-all was last used, for information only; 0 if never. */
  readonly tokensValidFrom: number
  readonly createdAt: number
  /** When a change last named what manages it; null if nothing does. */
  readonly appliedAt: number | null
  readonly suites: readonly string[]
  readonly secrets: readonly Secret[]
}

export type ApplicationKey = Key<'application'>

/** Made once for each application, because stores cache applications. */
const SOURCES = new WeakMap<object, (address: string) => boolean>()

/** Whether an application may authenticate from this address. */
export function isSource(application: Pick<Application, 'sourceAddresses'>, address: string): boolean {
  if (application.sourceAddresses.length === 0) return true
  let isWithin = SOURCES.get(application)
  if (!isWithin) {
    isWithin = rangesOf(application.sourceAddresses)
    SOURCES.set(application, isWithin)
  }
  return isWithin(address)
}

/** The fields that a search reads. */
export interface ApplicationNames
  extends ApplicationValues,
    OptionalTexts,
    Pick<Application, 'key' | 'clientId' | 'status'> {
  /** As JSON, because parsing it for each application of a search takes time. */
  readonly labels: string
  /** Null if it never got a token. Up to a minute late. */
  readonly lastTokenAt: number | null
  /** 1 if it is approved for the suite that was asked for. */
  readonly isApproved: 0 | 1
}

export interface NewApplication extends Changeable, Pick<Application, 'clientId' | 'createdAt'> {
  /** Secrets and federated credentials. */
  readonly secrets: readonly NewSecret[]
  readonly suites: readonly string[] | 'all'
  /** Active by default. */
  readonly status?: Application['status'] | undefined
  /** Whether it is skipped if its developer already has an application of this name. */
  readonly skipNamesake: boolean
}

/** The suites that a registration names; none if it means all. */
export function namedSuites(suites: NewApplication['suites'] = []): readonly string[] {
  return suites === 'all' ? [] : suites
}

/** Identifies a seed entry without a client id, and the application registered for it. Its space sets it apart from client ids. */
export function nameAndDeveloper({ name, developerEmail }: ApplicationValues): string {
  return `${name} <${developerEmail}>`
}

/** A new client identifier (RFC 6749 §2.2): 32 characters that form encoding leaves as they are. */
export function generateClientId(): string {
  return randomString(32)
}

/** The beginning and length of an unregistered client id, which may be a secret in the wrong field. */
export function abbreviated(clientId: string): string {
  return `${clientId.slice(0, 4)}... (${clientId.length} characters)`
}

/** Matches the result of `abbreviated`; captures the beginning and the length. */
export const ABBREVIATED = /^(.{0,4})\.\.\. \((\d+) characters\)$/s

declare const owner: unique symbol

/** The key of a row, which is opaque outside of its store. */
export type Key<Row extends string> = { readonly [owner]: Row }

export type Labels = Readonly<Record<string, string>>

/** What operators can add to a suite. */
export interface Annotations {
  readonly labels: Labels
  readonly note: string
  /** The file or the program that manages it; empty for none. */
  readonly managedBy: string
}

/** An undefined field stays as it is. */
export type AnnotationChanges = { readonly [Field in keyof Annotations]?: Annotations[Field] | undefined }

/** One text for each label, `key=value`. */
export function labelTexts(labels: Labels): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`)
}

/** Parses such texts without checking them. A text without `=` is a key without a value. */
export function labelsIn(texts: readonly string[]): Labels {
  return Object.fromEntries(
    texts.map((text) => {
      const [key = '', ...value] = text.split('=')
      return [key.trim(), value.join('=').trim()]
    }),
  )
}

/** The labels that suites and gateways see; undefined if there are none. */
export function publicLabelsOf({ labels, publicLabels }: ApplicationExtras): Labels | undefined {
  if (publicLabels.length === 0) return undefined
  const shown = Object.entries(labels).filter(([key]) => publicLabels.includes(key))
  return shown.length > 0 ? Object.fromEntries(shown) : undefined
}

/** Whether one of the labels is this `key=value`, or has this key. */
export function hasLabel(labels: Labels, wanted: string): boolean {
  return wanted.includes('=') ? labelTexts(labels).includes(wanted) : Object.hasOwn(labels, wanted)
}
