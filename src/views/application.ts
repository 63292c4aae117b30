import { z } from 'zod'
import type { Application, ApplicationColumn, OptionalColumn } from '../domain/application.ts'
import { ANNOTATIONS } from './labels.ts'
import { choice, lineInput, list, object, shownTexts, text, textInput, time, view, whole } from './schema.ts'

export const APPLICATION_TEXTS = {
  name: lineInput('The name').describe('Its name: 1 to 200 characters'),
  developer_email: textInput('The developer email')
    .max(254, 'The developer email may have at most 254 characters')
    .regex(
      /^[^\s@\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]+@[^\s@\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]+$/u,
      'The developer email must be an email address',
    )
    .describe('The contact address of its developer'),
} satisfies Record<ApplicationColumn, z.ZodString>

export const OPTIONAL_TEXTS = { note: ANNOTATIONS.note } satisfies Record<OptionalColumn, z.ZodString>

export const APPLICATION = object('ApprovedApplication', 'An application that is approved for a suite', {
  client_id: text('The client id'),
  ...shownTexts(APPLICATION_TEXTS),
  status: choice(['active', 'suspended'], 'A suspended application gets no tokens, and its tokens are refused'),
  suites: list('The suites that it is approved for', z.string()),
  created_at: time('When it was registered'),
  tokens_valid_from: time('When all its tokens were last revoked; null if never').nullable(),
  labels: ANNOTATIONS.labels,
  ...shownTexts(OPTIONAL_TEXTS),
  quota: whole('How many tokens it may get in a clock hour; null for TOKEN_QUOTA of the server').nullable(),
})

/** The source of the view of an application, also of a view with more fields. */
export function applicationSource<Shown extends Application>({ tokensValidFrom, ...application }: Shown) {
  return { ...application, tokensValidFrom: tokensValidFrom || null }
}

export const applicationFields = (application: Application) => view(APPLICATION, applicationSource(application))
