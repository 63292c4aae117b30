import { z } from 'zod'
import { type Annotations, SHOWN_ANNOTATIONS } from './labels.ts'
import { choice, lineInput, list, object, type SourceOf, text, textInput, time, view, whole } from './schema.ts'
import type { NewSecret, Secret } from './secret.ts'
import { randomString } from './text.ts'

/** In characters. The ids of suites are shorter. */
export const MAX_CLIENT_ID_LENGTH = 200

/** The texts of an application that operators can set, by their names in JSON (also their columns), with their rules. */
export const APPLICATION_TEXTS = {
  name: lineInput('The name').describe('Its name: 1 to 200 characters'),
  developer_email: textInput('The developer email')
    .max(254, 'The developer email may have 254 characters at most')
    .regex(
      /^[^\s@\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]+@[^\s@\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]+$/u,
      'The developer email must be an email address',
    )
    .describe('The contact address of its developer'),
}

type Column = keyof typeof APPLICATION_TEXTS

export const APPLICATION_COLUMNS = Object.keys(APPLICATION_TEXTS) as readonly Column[]

const COLUMNS = z.object(APPLICATION_TEXTS)

export type ApplicationValues = SourceOf<typeof COLUMNS>
export type ApplicationField = keyof ApplicationValues

/** What operators set besides. */
export interface ApplicationSettings extends Annotations {
  /** How many tokens it may get in an hour of the clock; null: TOKEN_QUOTA. */
  readonly quota: number | null
}

type Changeable = ApplicationValues & ApplicationSettings

/** An undefined field stays as it is. */
export type ApplicationChanges = { readonly [Field in keyof Changeable]?: Changeable[Field] | undefined }

/** The texts of an application by their columns. */
export function columnsOf(application: ApplicationValues): Record<Column, string>
export function columnsOf(changes: ApplicationChanges): Partial<Record<Column, string>>
export function columnsOf(application: ApplicationChanges): Partial<Record<Column, string>> {
  return view(COLUMNS, application as ApplicationValues)
}

/** A registered client (RFC 6749 §2): a partner's application, allowed to ask for access tokens. */
export interface Application extends ApplicationValues, ApplicationSettings {
  /** Never reused, so a removed application's tokens stay invalid if its client id is registered again. */
  readonly key: ApplicationKey
  readonly clientId: string
  readonly status: 'active' | 'suspended'
  /** Tokens of an earlier generation are revoked: revoke-all increments it, so it does not depend on clocks. */
  readonly tokenGeneration: number
  /** When revoke-all was last used, only to be shown. Milliseconds since the epoch; 0: never. */
  readonly tokensValidFrom: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** The ids of the approved suites. */
  readonly suites: readonly string[]
  readonly secrets: readonly Secret[]
}

export type ApplicationKey = Key<'application'>

/** The view of an application, without its secrets. */
export const APPLICATION = object('ApprovedApplication', 'An application that is approved for a suite', {
  client_id: text('The client id'),
  ...shownTexts(),
  status: choice(['active', 'suspended'], 'A suspended application gets no tokens, and its tokens are refused'),
  suites: list('The suites that it is approved for', z.string()),
  created_at: time('When it was registered'),
  tokens_valid_from: time('When all its tokens were last revoked; null: never').nullable(),
  ...SHOWN_ANNOTATIONS,
  quota: whole('How many tokens it may get in an hour of the clock; null: TOKEN_QUOTA of the server').nullable(),
})

/** The same texts for a view: without the rules, but with their descriptions. */
function shownTexts() {
  const shown = Object.entries(APPLICATION_TEXTS).map(([name, { description = '' }]) => [name, text(description)])
  return Object.fromEntries(shown) as Record<Column, z.ZodString>
}

export function applicationFields(application: Application) {
  return view(APPLICATION, { ...application, tokensValidFrom: application.tokensValidFrom || null })
}

/** The fields that a search reads. */
export interface ApplicationNames extends Pick<Application, 'key' | 'clientId' | 'name' | 'developerEmail' | 'status'> {
  /** As JSON: parsing it for each application of a search takes time. */
  readonly labels: string
  /** 1: it is approved for the suite that was asked for. */
  readonly isApproved: 0 | 1
}

export interface NewApplication
  extends ApplicationValues,
    ApplicationSettings,
    Pick<Application, 'clientId' | 'createdAt'> {
  readonly secret: NewSecret
  /** The suites to approve it for. */
  readonly suites: readonly string[] | 'all'
  /** Whether it is skipped if its developer already has an application of this name. */
  readonly skipNamesake: boolean
}

/** The suites that a registration names; none if it means all. */
export function namedSuites(suites: NewApplication['suites'] = []): readonly string[] {
  return suites === 'all' ? [] : suites
}

/** Identifies an entry of a seed file without a client id, and the application that was registered for it. */
export function nameAndDeveloper({ name, developerEmail }: ApplicationValues): string {
  return JSON.stringify([name, developerEmail])
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
