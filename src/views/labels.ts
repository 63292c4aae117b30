import { z } from 'zod'
import { visible } from '../domain/text.ts'
import { lineInput, shownTexts, textInput } from './schema.ts'

const MAX_LABELS = 20

const LABEL = z.object({
  key: textInput('The key of a label').regex(
    /^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/,
    'The key of a label must be 1 to 63 characters of a-z 0-9 . _ - /, and begin and end with a letter or a digit',
  ),
  value: lineInput('The value of a label'),
})

const LABELS = z
  .record(z.string(), z.string(), 'The labels must be texts by their keys')
  .superRefine((labels, context) => {
    for (const [key, value] of Object.entries(labels)) {
      for (const { message } of LABEL.safeParse({ key, value }).error?.issues ?? []) {
        context.addIssue({ code: 'custom', path: [key], message })
      }
    }
  })
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `There may be at most ${MAX_LABELS} labels`)
  // Always in the same order, because a change is a difference of the stored texts.
  .overwrite((labels) => Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))))
  .describe('Labels: at most 20 keys of a-z 0-9 . _ - / (63 characters), each with a value of up to 200 characters')

const NOTE = textInput('The note')
  .overwrite((note) => note.replace(/\r\n?/g, '\n').trimEnd())
  .max(2000, 'The note may have at most 2,000 characters')
  .refine((note) => visible(note) === note && note.isWellFormed(), 'The note must not have control characters')
  .describe('A note for operators: up to 2,000 characters, several lines; empty for none')

/** The rules of labels and note, by their names in JSON, which are also their columns. */
export const ANNOTATIONS = { labels: LABELS, note: NOTE }

/** The same for a view. */
export const SHOWN_ANNOTATIONS = { labels: LABELS, ...shownTexts({ note: NOTE }) }
