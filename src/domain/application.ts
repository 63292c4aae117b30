import { z } from 'zod'
import { choice, list, object, text, time, view } from './schema.ts'
import type { NewSecret, Secret } from './secret.ts'
import { randomString } from './text.ts'

/** Characters. Suites' ids are shorter. */
export const MAX_CLIENT_ID_LENGTH = 200

/**
 * What operators say of an application and may change, all of it text: each field, and its name in JSON, in the log and as a
 * column. Its rule is in administration/rules.ts.
 */
const FIELDS = { name: 'name', developerEmail: 'developer_email' } as const

export type ApplicationField = keyof typeof FIELDS

type Column = (typeof FIELDS)[ApplicationField]

export const APPLICATION_COLUMNS: readonly Column[] = Object.values(FIELDS)

export type ApplicationValues = Readonly<Record<ApplicationField, string>>

/** What operators say of an application, by the names of the columns. A value that is not given is undefined. */
export function columnsOf<Value>(application: { readonly [Field in ApplicationField]?: Value }): Record<Column, Value> {
  const columns = Object.entries(FIELDS).map(([field, column]) => [column, application[field as ApplicationField]])
  return Object.fromEntries(columns)
}

/** A registered client (RFC 6749 §2): a partner's application, allowed to ask for access tokens. */
export interface Application extends ApplicationValues {
  /** Never used twice, so a removed application's tokens stay invalid if its client id is registered again. */
  readonly key: ApplicationKey
  readonly clientId: string
  readonly status: 'active' | 'suspended'
  /** Revoke-all counts it up, and so revokes every token of an earlier generation, whatever the clocks did. */
  readonly tokenGeneration: number
  /** When revoke-all did so last, for people. Milliseconds since the epoch; 0: never. */
  readonly tokensValidFrom: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** The ids of the suites that it is approved for. */
  readonly suites: readonly string[]
  readonly secrets: readonly Secret[]
}

export type ApplicationKey = Key<'application'>

/** What operators are shown of every application, also in audit events. Never a secret or a digest. */
export const APPLICATION = object('ApprovedApplication', 'An application that is approved for a suite', {
  client_id: text('The client id'),
  name: text('Its name'),
  developer_email: text('The contact address of its developer'),
  status: choice(['active', 'suspended'], 'A suspended application gets no tokens, and its tokens are refused'),
  suites: list('The suites that it is approved for', z.string()),
  created_at: time('When it was registered'),
  tokens_valid_from: time('When all its tokens were last revoked; null: never').nullable(),
})

export function applicationFields(application: Application) {
  return view(APPLICATION, { ...application, tokensValidFrom: application.tokensValidFrom || null })
}

/** The fields of an application that a search compares. */
export type ApplicationNames = Pick<Application, 'key' | 'clientId' | 'name' | 'developerEmail' | 'status'>

/** An application that is about to be registered. */
export interface NewApplication extends ApplicationValues {
  readonly clientId: string
  readonly createdAt: number
  readonly secret: NewSecret
  /** The suites to approve it for; all: every suite there is. */
  readonly suites: readonly string[] | 'all'
  /** Whether to leave it out where its developer already has an application of this name. */
  readonly skipNamesake: boolean
}

/** What tells an application without a client id from others, in the store and in a seed file. */
export function nameAndDeveloper({ name, developerEmail }: Pick<Application, 'name' | 'developerEmail'>): string {
  return JSON.stringify([name, developerEmail])
}

/** New values of an application that is registered. */
export type ApplicationChanges = Partial<Readonly<Record<ApplicationField, string | undefined>>>

/** A new client identifier (RFC 6749 §2.2): 32 characters that form encoding leaves as they are. */
export function generateClientId(): string {
  return randomString(32)
}

/** A client id that is none: it may be a secret in the wrong field, so only its beginning and length are kept. */
export function abbreviated(clientId: string): string {
  return `${clientId.slice(0, 4)}... (${clientId.length} characters)`
}

/** What `abbreviated` makes: the beginning and the length. */
export const ABBREVIATED = /^(.{0,4})\.\.\. \((\d+) characters\)$/s

declare const owner: unique symbol

/** The store's own key of a row. Opaque: compare it, hand it back to the store that gave it, and nothing else. */
export type Key<Row extends string> = { readonly [owner]: Row }
